"""Whether a model takes text, which the host computes with ahead of steps (keras layer).

What does so is imported when a model first needs it.
"""

from typing import Any

import jax
import keras
import numpy as np

from stratax.base.typing import PyTree

TEXT = "string"


def is_text(value: object) -> bool:
    """Return whether something is an array of text: a feature, or what describes one."""
    dtype = getattr(value, "dtype", None)
    if isinstance(dtype, str):
        return dtype == TEXT
    return str(dtype) in ("str", "string") or getattr(np_dtype(dtype), "kind", "") in ("O", "S", "U")


def np_dtype(dtype: Any) -> Any:
    """Return a dtype as NumPy has it; None for what it has not."""
    try:
        return None if dtype is None else np.dtype(getattr(dtype, "as_numpy_dtype", dtype))
    except TypeError:
        return None


def takes_text(model: keras.Model, x: PyTree) -> bool:
    """Return whether a model is given text, or has layers that compute on the host.

    Args:
        model: The model.
        x: What `fit` and its like are given for it.
    """
    inputs = getattr(model, "_inputs", None) or ()
    if any(each.dtype == TEXT for each in inputs):
        return True
    if any(_computes_on_host(layer) for layer in model._flatten_layers()):
        return True
    spec = getattr(x, "element_spec", None)
    if spec is not None:
        return any(is_text(each) for each in jax.tree.leaves(features_of(spec), is_leaf=is_spec))
    if isinstance(x, dict | list | tuple) or hasattr(x, "dtype"):
        return any(is_text(each) for each in jax.tree.leaves(x) if hasattr(each, "dtype"))
    return False


def _computes_on_host(layer: Any) -> bool:
    return not getattr(layer, "supports_jit", True) and getattr(layer, "in_model", None) is not None


def is_spec(value: object) -> bool:
    """Return whether something describes an array, or is one."""
    return hasattr(value, "dtype") and hasattr(value, "shape")


def features_of(element: Any) -> Any:
    """Return the features of a batch, or of what describes one."""
    return element[0] if isinstance(element, list | tuple) and element else element
