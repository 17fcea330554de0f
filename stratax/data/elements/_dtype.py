"""`DType`: a dtype with the attributes that TensorFlow's has (data layer)."""

import functools
from typing import Any

import ml_dtypes
import numpy as np

from stratax.base.shown import shown
from stratax.errors import BadTypeError
from stratax.io import TYPES_BY_DTYPE, TYPES_BY_NUMBER

_TYPES = {float: "float32", "float": "float32", "half": "float16", "double": "float64", "string": "object"}
_OF_NUMPY = ("kind", "itemsize", "type", "char", "str", "hasobject")
_REAL = {"complex64": "float32", "complex128": "float64"}


class DType:
    """A dtype, as `tf.DType`: NumPy, JAX and Keras take it wherever they take one of their own.

    It is equal to NumPy's dtype, to its name and to its type, and has `kind`, `itemsize`, `type`, `char`, `str` and
    `hasobject` of NumPy's beside those below.

    Args:
        dtype: What names a dtype: NumPy's, its name or type, another of these, or TensorFlow's number of it.

    Raises:
        BadTypeError: If there is none of that name.

    Example:
        >>> import stratax.tf as tf
        >>> tf.int8.max, tf.float16.is_floating, tf.float32 == "float32"
        (127, True, True)
    """

    __slots__ = ("_dtype",)

    _dtype: np.dtype

    def __new__(cls, dtype: object) -> "DType":
        """Return the one object that there is for a dtype."""
        return _only(_numpy_dtype(dtype))

    @property
    def dtype(self) -> np.dtype:
        """The dtype as NumPy has it: by this attribute NumPy, JAX and Keras know it."""
        return self._dtype

    @property
    def as_numpy_dtype(self) -> Any:
        """NumPy's type of its numbers, such as `np.float32`."""
        return object if self._dtype.hasobject else self._dtype.type

    @property
    def name(self) -> str:
        """Its name in TensorFlow."""
        return "string" if self._dtype.hasobject else self._dtype.name

    @property
    def size(self) -> int:
        """How many bytes a number has; 0 for text."""
        return 0 if self._dtype.hasobject else self._dtype.itemsize

    @property
    def as_datatype_enum(self) -> int:
        """Its number in TensorFlow."""
        return TYPES_BY_DTYPE[self._dtype.newbyteorder("=")].number

    @property
    def base_dtype(self) -> "DType":
        """The dtype itself: there are no references to tensors."""
        return self

    @property
    def real_dtype(self) -> "DType":
        """The dtype of the real parts of its numbers."""
        return DType(_REAL.get(self.name, self))

    @property
    def is_bool(self) -> bool:
        """Whether it is that of truth values."""
        return self._dtype.kind == "b"

    @property
    def is_integer(self) -> bool:
        """Whether its numbers are whole."""
        return self._dtype.kind in "iu"

    @property
    def is_unsigned(self) -> bool:
        """Whether its numbers are whole and not negative."""
        return self._dtype.kind == "u"

    @property
    def is_floating(self) -> bool:
        """Whether its numbers are real ones with fractions."""
        return self._dtype.kind == "f" or self._dtype == ml_dtypes.bfloat16

    @property
    def is_complex(self) -> bool:
        """Whether its numbers are complex."""
        return self._dtype.kind == "c"

    @property
    def is_numeric(self) -> bool:
        """Whether it has numbers."""
        return self.is_integer or self.is_floating or self.is_complex

    @property
    def is_quantized(self) -> bool:
        """Whether it is one of TensorFlow's quantized dtypes, which there are not."""
        return False

    @property
    def is_numpy_compatible(self) -> bool:
        """Whether NumPy has it."""
        return True

    @property
    def min(self) -> Any:
        """The least number.

        Raises:
            BadTypeError: If its values have no order.
        """
        return self._range().min

    @property
    def max(self) -> Any:
        """The greatest number.

        Raises:
            BadTypeError: If its values have no order.
        """
        return self._range().max

    @property
    def limits(self) -> tuple[Any, Any]:
        """The range in which the intensities of images are: 0 to 1 for fractions, else 0 to the greatest number."""
        return 0, (1 if self.is_floating else True if self.is_bool else self.max)

    def is_compatible_with(self, other: object) -> bool:
        """Return whether another dtype is the same."""
        return self == other

    def _range(self) -> Any:
        if self.is_integer:
            return np.iinfo(self._dtype)
        if self.is_floating:
            return ml_dtypes.finfo(self._dtype)
        raise BadTypeError(
            "Only numbers have a least and a greatest one. Expected: a dtype of whole or real numbers. Received: "
            f"{shown(self)}. Ask is_integer or is_floating first."
        )

    def __getattr__(self, name: str) -> Any:
        # No other name of NumPy's: by `shape` or `ndim` it would pass for an array or a spec.
        if name not in _OF_NUMPY:
            raise AttributeError(f"{shown(self)} has no attribute {shown(name)}.", name=name)
        return getattr(self._dtype, name)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, DType):
            return self._dtype == other._dtype
        try:
            return other is not None and self._dtype == _numpy_dtype(other)
        except BadTypeError:
            return False

    def __hash__(self) -> int:
        # As NumPy's, to which it is equal.
        return hash(self._dtype)

    def __int__(self) -> int:
        return self.as_datatype_enum

    def __reduce__(self) -> Any:
        return DType, (self._dtype,)

    def __str__(self) -> str:
        return f"<dtype: {self.name!r}>"

    def __repr__(self) -> str:
        return f"tf.{self.name}"


@functools.cache
def _only(dtype: np.dtype) -> DType:
    made = object.__new__(DType)
    made._dtype = dtype
    return made


def _numpy_dtype(value: Any) -> np.dtype:
    if isinstance(value, np.dtype):
        return value
    if type(value) is int and value in TYPES_BY_NUMBER:
        return TYPES_BY_NUMBER[value].dtype
    if isinstance(value, str | type):
        value = _TYPES.get(value, value)
    try:
        found: np.dtype = np.dtype(getattr(value, "as_numpy_dtype", value))
    except TypeError as e:
        raise _no_dtype(value) from e
    # NumPy takes None for float64, and has dtypes of strings of one length.
    if value is None or value in (int, str) or (found.kind in "SUVmM" and found != ml_dtypes.bfloat16):
        raise _no_dtype(value)
    return found


def _no_dtype(value: object) -> BadTypeError:
    return BadTypeError(
        f"A dtype was expected, such as tf.float32 or 'float32'. Received: {shown(value)}. Pass one of tf's dtypes."
    )
