"""Text among the arguments and results of compiled functions (core layer).

No device holds text, so no program takes it: a function that is called with tensors of text runs in Python, and does
anew in each call what it does with them. What such a tensor is, whoever makes them says.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from stratax import errors
from stratax.base.shown import shown


@dataclasses.dataclass(slots=True)
class _Taken:
    as_tensor: Callable[[Any], Any] | None = None


_taken = _Taken()


def take_text(as_tensor: Callable[[Any], Any]) -> None:
    """Have compiled functions take text from now on.

    Args:
        as_tensor: Makes a tensor of a number or text of Python, an array of NumPy or a list.
    """
    _taken.as_tensor = as_tensor


def is_text(leaf: object) -> bool:
    """Return whether a leaf is an array or scalar of NumPy's that holds text or other objects."""
    return isinstance(leaf, np.ndarray | np.generic) and leaf.dtype.kind in "OSU"


def is_taken(leaves: list[Any]) -> bool:
    """Return whether there is text among arrays, and functions take it."""
    return _taken.as_tensor is not None and any(map(is_text, leaves))


def is_spec_of_text(spec: Any) -> bool:
    """Return whether a spec describes text, and functions take it."""
    return _taken.as_tensor is not None and bool(np.dtype(spec.dtype).hasobject)


def as_result(leaf: object) -> Any:
    """Return a part of what a function gave in Python as a compiled one gives it: numbers and text are tensors."""
    is_on_host = isinstance(leaf, bool | int | float | complex | str | bytes | np.ndarray | np.generic)
    return leaf if _taken.as_tensor is None or not is_on_host else _taken.as_tensor(leaf)


def declare_text(name: str, value: object, spec: object, fits: Callable[[tuple[int, ...], Any], bool]) -> Any:
    """Return an argument as the text that its spec describes.

    Args:
        name: The argument's.
        value: Text, or an array or list of it.
        spec: The spec.
        fits: Whether a shape is as a spec says.

    Raises:
        BadTypeError: If it is something else, or has another shape.
    """
    if getattr(value, "stands_for_text", False):
        # While a function is exported.
        return value
    is_listed = isinstance(value, str | bytes | list | tuple)
    made = _taken.as_tensor(value) if _taken.as_tensor and (is_listed or is_text(value)) else None
    if made is None or not is_text(made) or not fits(tuple(made.shape), spec):
        raise errors.BadTypeError(
            f"Argument {shown(name)} of a compiled function does not fit its signature. Expected: {spec}. "
            f"Received: {shown(value)}. Pass text of this shape, or declare another tf.TensorSpec."
        )
    return made
