"""What Keras keeps of layers that are computed anew."""

from collections.abc import Sequence
from typing import Any

import keras
from keras.src.backend.common.remat import RematMode


def mark_remat(layer: Any) -> None:
    """Have a layer's method be handed to `keras.remat`, as if the layer was made in a `RematScope`."""
    layer._remat_mode = RematMode("full", 0, [])


def move_losses(
    layer: keras.layers.Layer, old: Sequence[Any], new: Sequence[Any], to: keras.layers.Layer | None = None
) -> None:
    """Have losses that a layer, and those in it, have added be known by the arrays that stand for them now.

    Args:
        layer: The layer.
        old: The losses.
        new: What stands for each.
        to: A layer like it that the latter belong to; None for the layer itself.
    """
    # Keras 3.15 knows a layer's losses in a stateless scope by their ids.
    for each, other in zip(layer._flatten_layers(), (to or layer)._flatten_layers(), strict=True):
        other._loss_ids.update(
            id(later) for loss, later in zip(old, new, strict=True) if id(loss) in each._loss_ids
        )
