"""`keras.ops`, imported when the first of them is called (tf layer).

Functions of an input pipeline use the names of this layer on NumPy arrays, in processes that need no Keras.
"""

from collections.abc import Callable
from typing import Any


class _KerasOps:
    """Each attribute is a function that calls the one of that name in `keras.ops`."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            from keras import ops

            return getattr(ops, name)(*args, **kwargs)

        setattr(self, name, call)
        return call


ops = _KerasOps()
