"""Keras' names of dtypes, with what TensorFlow's dtypes have (keras2 layer)."""

import functools
from typing import Any

from stratax.base.shown import shown
from stratax.data.elements import DType

_ATTRIBUTES = frozenset(name for name in dir(DType) if not name.startswith("_")) - {"dtype"}


class DTypeName(str):
    """The dtype of a variable: a name, as Keras has it, that has the attributes of a `tf.DType`.

    Programs for Keras 2 ask a variable for `dtype.base_dtype` or `dtype.is_floating`.
    """

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        if name not in _ATTRIBUTES:
            raise AttributeError(f"{shown(str(self))} has no attribute {shown(name)}", name=name)
        return getattr(DType(str(self)), name)

    def __reduce__(self) -> Any:
        return str, (str(self),)


@functools.cache
def dtype_name(name: str) -> DTypeName:
    """Return a name with the attributes of the dtype."""
    return DTypeName(name)
