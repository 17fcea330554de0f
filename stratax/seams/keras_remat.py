"""What Keras keeps of layers that are computed anew."""

from collections.abc import Sequence
from typing import Any

from keras.src.backend.common.remat import RematMode


def mark_remat(layer: Any) -> None:
    """Have a layer's method be handed to `keras.remat`, as if the layer was made in a `RematScope`."""
    layer._remat_mode = RematMode("full", 0, [])


def move_losses(layer: Any, old: Sequence[Any], new: Sequence[Any]) -> None:
    """Have losses that a layer, and those in it, have added be known by the arrays that stand for them now."""
    # Keras 3.15 knows a layer's losses in a stateless scope by their ids.
    for each in layer._flatten_layers():
        each._loss_ids.update(
            id(later) for loss, later in zip(old, new, strict=True) if id(loss) in each._loss_ids
        )
