"""`keras.ops`, imported when the first of them is called (ops layer).

Functions of an input pipeline use the names of this layer on NumPy arrays, in processes that need no Keras.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from stratax.base.shown import shown
from stratax.core import storage
from stratax.errors import BadTypeError, StrataxError
from stratax.tensorflow.ops.calls._eager import Jax
from stratax.tensorflow.ops.calls.text import holds_text

# What may change a number's kind: whether it fits depends on what it becomes.
_CONVERSIONS = ("cast", "convert_to_tensor")


class _KerasOps:
    """Each attribute is a function that calls the one of that name in `keras.ops`."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*args: object, **kwargs: object) -> Any:
            ops = _find_ops()
            # It would be read as numbers.
            if name in _CONVERSIONS and holds_text(args[0]):
                raise _no_numbers(args[0])
            # Numbers that 32 bits cannot hold would be cut off without a word; JAX' arrays hold none of those.
            if name not in _CONVERSIONS:
                for operand in args:
                    if isinstance(operand, np.ndarray | np.generic):
                        _check_numbers(args)
                        break
            try:
                return getattr(ops, name)(*args, **kwargs)
            # They may be TypeErrors or ValueErrors, too.
            except StrataxError:
                raise
            except (TypeError, ValueError):
                # JAX' own message would show the whole of what was received.
                text = next(filter(holds_text, args), None)
                if text is None:
                    raise
            raise _no_numbers(text)

        # The next access finds the function in the instance.
        setattr(self, name, call)
        return call


def _check_numbers(args: tuple[object, ...]) -> None:
    try:
        storage.check_fits(args)
    except BadTypeError:
        # It tells of arrays that a strategy divides.
        text = next(filter(holds_text, args), None)
        if text is None:
            raise
    else:
        return
    raise _no_numbers(text)


def _no_numbers(text: object) -> BadTypeError:
    return BadTypeError(
        f"Numbers are computed with, and text is none. Received: {shown(text)}. Leave text out of what is computed, or "
        "convert it to numbers with tf.strings.to_number."
    )


ops = _KerasOps()


def put(numbers: object, dtype: str | None) -> Any:
    """Return what `ops.convert_to_tensor` does of what is known to be no text."""
    return _find_ops().convert_to_tensor(numbers, dtype=dtype)


@functools.cache
def _find_ops() -> Any:
    from keras import ops

    Jax.find()
    return ops
