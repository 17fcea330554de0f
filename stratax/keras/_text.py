"""Whether a model takes text, which the host computes with ahead of steps (keras layer)."""

from typing import Any

import jax
import keras

from stratax.base.typing import PyTree
from stratax.seams import keras_text

TEXT = "string"
KINDS = ("O", "S", "U")


def takes_text(model: keras.Model, x: PyTree) -> bool:
    """Return whether a model is given text in `x`, or has layers that compute on the host."""
    # Layers and inputs of text are made by what is in place then.
    for layer in model._flatten_layers() if keras_text.in_place else ():
        if hasattr(layer, "in_model") or any(each.dtype == TEXT for each in vars(layer).get("_inputs") or ()):
            return True
    spec = getattr(x, "element_spec", None)
    features = x if spec is None else features_of(spec)
    for each in (features,) if hasattr(features, "dtype") else jax.tree.leaves(features):
        dtype = getattr(each, "dtype", None)
        if getattr(dtype, "kind", "") in KINDS or str(dtype) in ("str", TEXT):
            return True
    return False


def features_of(element: Any) -> Any:
    """Return the features of a batch, or of what describes one."""
    return element[0] if isinstance(element, list | tuple) and element else element
