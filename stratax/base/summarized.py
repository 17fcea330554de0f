"""Arrays as text, as TensorFlow's `tf.print` and `tf.strings.format` show them (lowest layer)."""

import math
from typing import Any

import numpy as np

# The digits that are tried first for a dtype of so many bytes, and those that tell every number of it from the others.
_DIGITS = {8: (15, 17)}
_DIGITS_OF_FLOAT32 = (6, 9)
_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t", '"': '\\"', "'": "\\'", "\\": "\\\\"}


def summarize_array(array: np.ndarray, count: int) -> str:
    """Return an array's elements in brackets.

    Args:
        array: Numbers, or `bytes` as objects.
        count: How many elements are shown of each end of a dimension; -1 for all.
    """
    return _rows(array, count, 0)


def _rows(array: np.ndarray, count: int, dim: int) -> str:
    if dim == array.ndim:
        return _number(array)
    size = array.shape[dim]
    shown = (
        [*range(size)]
        if count < 0 or size <= 2 * count
        else [*range(count), None, *range(size - count, size)]
    )
    rest = array.ndim - dim - 1
    between = "\n" * rest + " " * (dim + 1) if rest else " "
    before = (slice(None),) * dim
    # A slice of one row keeps the number of dimensions, which the space between rows depends on.
    rows = (
        "..." if row is None else _rows(array[(*before, slice(row, row + 1))], count, dim + 1)
        for row in shown
    )
    return f"[{between.join(rows)}]"


def _number(array: np.ndarray) -> str:
    value: Any = array.reshape(-1)[0]
    kind = array.dtype.kind
    if isinstance(value, bytes):
        return f'"{escape_text(value)}"'
    if kind == "b":
        return str(int(value))
    if kind == "c":
        return f"({_float(value.real)},{_float(value.imag)})"
    return _float(value) if kind in "fV" else str(value)


def _float(value: Any) -> str:
    exact = float(value)
    if not math.isfinite(exact):
        return str(exact)
    size = value.dtype.itemsize
    few, all_of_it = _DIGITS.get(size, _DIGITS_OF_FLOAT32)
    text = f"{exact:.{few}g}"
    # Numbers of 16 bits are shown as those of 32.
    kept = float(text) if size == 8 else float(np.float32(text))
    return text if kept == exact else f"{exact:.{all_of_it}g}"


def escape_text(text: bytes) -> str:
    """Return text as C writes it: control characters by their escapes, or their octal numbers."""
    letters = text.decode(errors="surrogateescape")
    return "".join(
        _ESCAPES.get(letter, f"\\{ord(letter):03o}" if letter < " " or letter == "\x7f" else letter)
        for letter in letters
    )
