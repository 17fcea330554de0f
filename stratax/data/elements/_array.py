"""What a mapped function gets: a NumPy array whose operators mean what TensorFlow's do (data layer).

Python's and NumPy's meaning differs where an operand is a list, an integer is divided, or the other operand is of a
wider dtype; and `+=` changes an array that another name may stand for.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from stratax.base.shown import shown
from stratax.base.typing import TensorLike
from stratax.data.elements._tensor import TensorMethods, tensor_repr, tensor_str
from stratax.data.elements._tensor_shape import TensorShape
from stratax.errors import BadArgumentError, BadTypeError

OPERATORS = (
    "add", "sub", "mul", "truediv", "floordiv", "mod", "divmod", "pow", "matmul", "and", "or", "xor", "lshift",
    "rshift",
)  # fmt: skip
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
# NumPy gives 0 and a warning for these.
_INTEGER_DIVISIONS = {"floordiv", "mod", "divmod"}
# What gives infinite or undefined numbers, of which TensorFlow does not warn.
_UNDEFINED = {"truediv", "floordiv", "mod", "divmod", "pow"}
# Bytes: TensorFlow divides integers of 8 and 16 bits in float32, larger ones in float64.
_SMALL = 2
_PLAIN = {int, float, bool}
_shape_of = np.ndarray.shape.__get__  # type: ignore[attr-defined]


def like_tensor(value: object, dtype: np.dtype) -> Any:
    """Return an operand beside an element: lists, tuples and NumPy's constants take the element's dtype.

    An operand that this would change (fractions beside integers, where TensorFlow raises) stays as it is.
    """
    if isinstance(value, ElementArray) or not isinstance(value, list | tuple | np.ndarray | np.generic):
        return value
    array = np.asarray(value)
    if array.dtype == dtype or array.dtype.kind not in "biuf" or dtype.kind not in "iufV":
        return array if isinstance(value, list | tuple) else value
    if dtype.kind in "iu" and (array.dtype.kind == "f" or not np.array_equal(array.astype(dtype), array)):
        return array
    return array.astype(dtype)


def check_divisor(name: str, dividend: object, divisor: object) -> None:
    """Raise where an integer is divided by zero; NumPy gives 0, TensorFlow raises, too.

    Args:
        name: The operation, for the message.
        dividend: An array or number.
        divisor: Another.

    Raises:
        BadArgumentError: Both are integers, and some element of `divisor` is 0.
    """
    left, right = _values(dividend), _values(divisor)
    if left.dtype.kind not in "biu" or right.dtype.kind not in "biu":
        return
    if left.size and not right.all():
        raise BadArgumentError(
            f"Integer division by zero. Expected: a divisor without 0 for {name} of integers. Received: dividend of "
            f"dtype {left.dtype}, divisor of dtype {right.dtype} with a 0. Replace zeros first, or divide floats."
        )


def _is_on_host(operand: TensorLike) -> bool:
    """Return whether Python or NumPy has its value: an array of JAX has operators of its own."""
    return isinstance(operand, int | float | np.ndarray | np.generic) or hasattr(type(operand), "column")


def _values(operand: Any) -> np.ndarray:
    """Return an operand's values; of the stand-in for a batch of elements those of all."""
    return np.asarray(operand.column if hasattr(type(operand), "column") else operand)


def quotient_dtype(dividend: object, divisor: object) -> np.dtype | None:
    """Return the dtype that TensorFlow divides two small integers in; None where it is NumPy's."""
    if isinstance(dividend, float) or isinstance(divisor, float):
        return None
    dtypes = [value.dtype for value in (dividend, divisor) if hasattr(value, "dtype")]
    is_small = all(dtype.kind in "iu" and dtype.itemsize <= _SMALL for dtype in dtypes)
    return np.dtype(np.float32) if dtypes and is_small else None


def _refuse_text(numbers: Any, other: Any) -> None:
    """Raise where numbers are compared with text; NumPy finds them different, TensorFlow raises, too."""
    is_array = isinstance(other, np.ndarray | np.generic)
    if isinstance(other, str | bytes) or (is_array and other.dtype.kind in "SU"):
        raise BadTypeError(
            f"Numbers are not compared with text. Expected: numbers beside an array of dtype {numbers.dtype}. "
            f"Received: {shown(other)}. Convert text with tf.strings.to_number, or numbers with tf.strings.as_string."
        )


def _operator(base: type, name: str, *, is_reversed: bool) -> Callable[[Any, Any], Any]:
    method = f"__{'r' if is_reversed else ''}{name}__"
    inherited = getattr(base, method)
    if name in _UNDEFINED:
        inherited = np.errstate(all="ignore")(inherited)
    is_integer_division, is_quotient = name in _INTEGER_DIVISIONS, name == "truediv"
    is_equality = name in ("eq", "ne")

    def operate(self: Any, other: Any) -> Any:
        # Variables and tracers compute on a device, where tapes see it; NumPy would take a variable's value instead.
        if hasattr(type(other), "__jax_array__"):
            return NotImplemented
        # Python's own numbers are weakly typed in NumPy 2, too.
        if type(other) not in _PLAIN:
            other = like_tensor(other, self.dtype)
            if is_equality and self.dtype.kind in "biufc":
                _refuse_text(self, other)
        if is_integer_division and self.dtype.kind in "iu" and _is_on_host(other):
            check_divisor(name, *((other, self) if is_reversed else (self, other)))
        if is_quotient and (dtype := quotient_dtype(self, other)) is not None:
            self = self.astype(dtype)
        return inherited(self, other)

    operate.__name__ = method
    return operate


def _not_in_place(self: object, other: object) -> Any:
    # Python then computes `x + other` and binds the name anew.
    return NotImplemented


class ElementArray(TensorMethods, np.ndarray):
    """One component of an element: what functions given to `map`, `filter` or their like get."""

    def __getitem__(self, key: Any) -> Any:
        found = np.ndarray.__getitem__(self, key)
        is_number = isinstance(found, np.generic) and found.dtype.kind not in "USO"
        return np.asarray(found).view(ElementArray) if is_number else found

    def __iter__(self) -> Any:
        if not self.ndim:
            raise TypeError("A scalar element can't be iterated.")
        # NumPy's iterator would give scalars, which have Python's operators.
        return (self[i] for i in range(len(self)))

    def __hash__(self) -> int:  # type: ignore[override]  # As NumPy's scalars, for look-ups in tables.
        if self.size != 1:
            raise TypeError("An array is unhashable. Use array.ref() as the key.")
        return hash(self.item())

    def __round__(self, ndigits: int | None = None) -> Any:
        return round(self.item(), ndigits)

    @property
    def shape(self) -> TensorShape:  # type: ignore[override]
        """The shape, as a tensor's."""
        return tuple.__new__(TensorShape, _shape_of(self))

    @shape.setter
    def shape(self, sizes: Any) -> None:
        np.ndarray.shape.__set__(self, sizes)  # type: ignore[attr-defined]

    def numpy(self) -> Any:
        """Return the values as a NumPy array of their own, or as a scalar."""
        return np.array(self)[()]

    def follow_as(self, on_device: object) -> None:
        """Have an array of a device compute in this one's place from now on, which a tape follows."""
        from stratax.data.elements._followed import follow

        follow(self, on_device)

    def __format__(self, spec: str) -> str:
        return format(self.view(np.ndarray)[()], spec)

    def __str__(self) -> str:
        return tensor_str(self)

    def __repr__(self) -> str:
        return tensor_repr(self)


class Count(TensorMethods, int):
    """A number of Python with the methods of a tensor."""

    shape = TensorShape(())
    dtype: np.dtype = np.dtype(np.int64)
    ndim = 0

    __hash__ = int.__hash__

    def numpy(self) -> Any:
        """Return the number as a scalar of NumPy."""
        return self.dtype.type(self)


def _compare_as_tensors(name: str) -> Callable[[Count, Any], Any]:
    """Return a comparison that gives a tensor, as those of a tensor do."""
    inherited = getattr(int, name)

    def compare(self: Count, other: object) -> Any:
        found = inherited(self, other)
        return found if found is NotImplemented else np.asarray(found).view(ElementArray)

    compare.__name__ = name
    return compare


for _name in ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"):
    setattr(Count, _name, _compare_as_tensors(_name))


class Rank(Count):
    """How many dimensions an array has, which TensorFlow counts in 32 bits."""

    dtype = np.dtype(np.int32)


def define_operators(kind: type, base: type) -> None:
    """Give a class TensorFlow's operators.

    Args:
        kind: The class, whose values have a `dtype` and `astype`.
        base: Where it has NumPy's from.
    """
    for name in OPERATORS:
        setattr(kind, f"__{name}__", _operator(base, name, is_reversed=False))
        setattr(kind, f"__r{name}__", _operator(base, name, is_reversed=True))
        # An element's array may stand for others' memory: `x += 1` makes a new one, as in TensorFlow.
        setattr(kind, f"__i{name}__", _not_in_place)
    for name in COMPARISONS:
        setattr(kind, f"__{name}__", _operator(base, name, is_reversed=False))


define_operators(ElementArray, np.ndarray)
