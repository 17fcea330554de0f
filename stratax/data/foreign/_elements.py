"""Elements of other libraries as structures of NumPy arrays (data layer)."""

import sys
from collections.abc import Mapping
from typing import Any

import numpy as np


def as_element(value: object) -> Any:
    """Return an element of another library: its containers as structure, its tensors as NumPy arrays.

    A list with anything else than numbers and strings in it is structure and becomes a tuple (loaders make lists of
    tuples); so does a sequence of tensors.
    """
    if isinstance(value, Mapping):
        return {key: as_element(part) for key, part in value.items()}
    if isinstance(value, tuple):
        parts = [as_element(part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    # A list of numbers is an array; a list of tensors is structure.
    if isinstance(value, list) and not all(_is_plain(part) for part in value):
        return tuple(as_element(part) for part in value)
    return as_host(value)


def _is_plain(value: object) -> bool:
    if isinstance(value, list):
        return all(map(_is_plain, value))
    return isinstance(value, bool | int | float | complex | str | bytes | np.generic)


def as_host(value: Any) -> Any:
    """Return a tensor of any library as a NumPy array; everything else as it is."""
    if value is None or isinstance(value, np.ndarray | list) or _is_plain(value):
        return value
    if hasattr(value, "detach"):
        # Tensors with a gradient, or on an accelerator, have no NumPy array.
        return _from_torch(value.detach().cpu())
    if callable(getattr(value, "numpy", None)):
        return value.numpy()
    return (
        np.asarray(value) if hasattr(value, "__array__") or hasattr(value, "__array_interface__") else value
    )


def _from_torch(tensor: Any) -> Any:
    if str(tensor.dtype) != "torch.bfloat16":
        return tensor.numpy()
    import ml_dtypes

    # NumPy knows bfloat16 through ml_dtypes only; the bits are the same.
    return tensor.view(sys.modules["torch"].int16).numpy().view(ml_dtypes.bfloat16)
