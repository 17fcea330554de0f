"""Functions of `tf.bitwise`, for arrays of whole numbers (ops layer)."""

from collections.abc import Callable
from typing import Any

import numpy as np

from stratax.base.shown import shown
from stratax.base.typing import Array
from stratax.errors import BadTypeError
from stratax.tensorflow.ops.calls._computed import array_function


def _bitwise(name: str, parameters: str, compute: Callable[..., Any], what: str) -> Any:
    def check(library: Any, *arrays: Array) -> Any:
        for array in arrays:
            # JAX and NumPy take truth values, too, TensorFlow does not.
            if np.dtype(array.dtype).kind not in "iu":
                raise BadTypeError(
                    f"`tf.bitwise.{name}` takes whole numbers. Received: an array of dtype {array.dtype}, "
                    f"{shown(array)}. Convert it with tf.cast."
                )
        return compute(library, *arrays)

    return array_function(f"bitwise.{name}", parameters, check, what, "Whole numbers.")


def _shift(xp: Any, shift: Callable[..., Any], x: Array, y: Array) -> Any:
    # What lies outside of the bits is moved to their ends, as TensorFlow does on a CPU; hardware differs.
    return shift(x, xp.clip(y, 0, np.dtype(x.dtype).itemsize * 8 - 1))


bitwise_and = _bitwise("bitwise_and", "x y", lambda xp, x, y: xp.bitwise_and(x, y), "The bits that both have")
bitwise_or = _bitwise(
    "bitwise_or", "x y", lambda xp, x, y: xp.bitwise_or(x, y), "The bits that one of both has"
)
bitwise_xor = _bitwise(
    "bitwise_xor", "x y", lambda xp, x, y: xp.bitwise_xor(x, y), "The bits that exactly one of both has"
)
invert = _bitwise("invert", "x", lambda xp, x: xp.invert(x), "The bits that x does not have")
left_shift = _bitwise(
    "left_shift", "x y", lambda xp, x, y: _shift(xp, xp.left_shift, x, y), "The bits of x, y places higher"
)
right_shift = _bitwise(
    "right_shift", "x y", lambda xp, x, y: _shift(xp, xp.right_shift, x, y),
    "The bits of x, y places lower; negative numbers stay negative",
)  # fmt: skip
