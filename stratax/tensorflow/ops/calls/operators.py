"""How the operators of JAX' arrays compute in programs that import `stratax.tf`: as those of tensors (ops layer).

Lists beside an array become arrays of its dtype. What TensorFlow refuses and JAX computes something from is refused as
far as it is known: an index out of range, which JAX moves inwards, and a division of whole numbers by zero.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from stratax.base.indices import Bound, check_bound, is_known
from stratax.base.shown import cut, shown
from stratax.base.tracing import CHOSEN, as_numbers, is_symbolic_size, is_traced
from stratax.base.typing import Array, TensorLike
from stratax.data.elements import if_constant
from stratax.errors import BadArgumentError, BadTypeError, OperandError
from stratax.tensorflow.ops.calls.chosen import dims_of, is_index, take_chosen
from stratax.tensorflow.ops.calls.creation import on_device
from stratax.tensorflow.ops.calls.dtypes import device_dtype, holds_fractions, is_large

# What errors call the methods of arrays.
_SYMBOLS = {
    "add": "+",
    "radd": "+",
    "sub": "-",
    "rsub": "-",
    "mul": "*",
    "rmul": "*",
    "truediv": "/",
    "rtruediv": "/",
    "floordiv": "//",
    "rfloordiv": "//",
    "mod": "%",
    "rmod": "%",
    "pow": "**",
    "rpow": "**",
    "matmul": "@",
    "rmatmul": "@",
    "and": "&",
    "rand": "&",
    "or": "|",
    "ror": "|",
    "xor": "^",
    "rxor": "^",
    "eq": "==",
    "ne": "!=",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
}
# For which TensorFlow raises where a whole number is divided by 0.
_DIVISIONS = ("floordiv", "mod")

OPERATORS = tuple(_SYMBOLS)


def operator(name: str, compute: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Return an operator of tensors, made of the one that JAX' arrays have.

    Args:
        name: Its name, without underscores: one of `OPERATORS`.
        compute: What JAX computes.
    """
    symbol, divides, is_reflected = _SYMBOLS[name], name.removeprefix("r") in _DIVISIONS, name in _REFLECTED
    compares, is_product = name in ("eq", "ne"), name.endswith("matmul")

    def function(self: Any, other: TensorLike) -> Any:
        # JAX refuses lists beside arrays, TensorFlow makes tensors of them.
        if type(other) is list or type(other) is tuple:
            try:
                other = _beside(self, other)
            except (TypeError, ValueError):
                if compares:
                    return NotImplemented
                raise
        elif type(other) is np.int64 and not -(2**31) <= other < 2**31 and holds_fractions(self.dtype):
            # 32 bits of it would be another number.
            other = float(other)
        elif compares and isinstance(other, str | bytes):
            raise BadTypeError(
                f"Numbers are not compared with text. Received: {shown(other)} beside an array of dtype {self.dtype}. "
                "Convert text with tf.strings.to_number."
            )
        if divides:
            # The operand on the right divides.
            check_divisor(*((self, other) if is_reflected else (other, self)))
        try:
            return compute(self, other)
        except OverflowError:
            if not (is_large(other) and holds_fractions(self.dtype)):
                raise
            return compute(self, float(other))  # type: ignore[arg-type]
        except (TypeError, ValueError) as error:
            # What derives from them tells of tracing.
            if type(error) not in (TypeError, ValueError):
                raise
            shape = getattr(other, "shape", ())
            # Of matrices no more is known than that JAX does not multiply them.
            if not is_product and _broadcast(self.shape, shape):
                raise OperandError(
                    f"Operands of {symbol} do not fit. {cut(str(error))} Received: an array of {self.dtype} and "
                    f"{_what(other)}. Convert one of them with tf.cast."
                ) from error
            if compares:
                # As in TensorFlow: what can't be compared element by element is unequal as a whole.
                return on_device(name == "ne")
            raise BadArgumentError(_message(symbol, self, other, is_reflected)) from error

    function.__name__ = function.__qualname__ = f"__{name}__"
    return function


# Those of `a + b` where the array is `b`.
_REFLECTED = tuple(name for name in _SYMBOLS if name.startswith("r") and name[1:] in _SYMBOLS)


def _what(operand: TensorLike) -> str:
    return f"one of {operand.dtype}" if hasattr(operand, "dtype") else shown(operand)


def _message(symbol: str, self: Any, other: Any, is_reflected: bool) -> str:
    left, right = (other, self) if is_reflected else (self, other)
    shapes = [str(list(map(int, operand.shape))).replace(" ", "") for operand in (left, right)]
    return (
        f"Incompatible shapes: {shapes[0]} vs. {shapes[1]}. Expected: operands of {symbol} whose shapes fit. Reshape "
        "one of them."
    )


def _broadcast(first: Any, second: Any) -> bool:
    try:
        np.broadcast_shapes(tuple(first), tuple(second))
    except ValueError:
        return False
    return True


def _beside(array: Array, values: TensorLike) -> Any:
    other = on_device(values)
    # Fractions beside whole numbers stay what they are.
    if other.dtype.kind in "fc" and array.dtype.kind in "iub":
        return other
    return other.astype(device_dtype(array.dtype))


def check_divisor(divisor: TensorLike, dividend: TensorLike) -> None:
    """Raise for a division of whole numbers by a zero that is known.

    Raises:
        BadArgumentError: As TensorFlow on a CPU.
    """
    if isinstance(divisor, int):
        # Of fractions a division by zero is infinite, and no error.
        is_zero = divisor == 0 and np.dtype(getattr(dividend, "dtype", int)).kind in "iu"
    elif getattr(getattr(divisor, "dtype", None), "kind", None) in ("i", "u") and is_known(divisor):
        is_zero = _kind(dividend) in "iub" and not np.asarray(divisor).all()
    else:
        return
    if is_zero:
        raise BadArgumentError(
            f"Integer division by zero. Received: divisor={shown(divisor)}. Use tf.math.divide_no_nan, or replace "
            "zeros with tf.where."
        )


def _kind(value: TensorLike) -> str:
    return str(value.dtype.kind) if hasattr(value, "dtype") else "f" if isinstance(value, float) else "i"


def getitem(compute: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Return `array[index]` of tensors, made of that of JAX' arrays."""

    def __getitem__(self: Any, index: TensorLike) -> Any:
        # A list is what a tuple is, as in TensorFlow.
        index = tuple(index) if type(index) is list else index
        index = tuple(map(_find_known_slice, index)) if type(index) is tuple else _find_known_slice(index)
        parts = index if type(index) is tuple else (index,)
        _check_index(self.shape, parts)
        if CHOSEN:
            from stratax.core import jaxprs

            if any(map(jaxprs.is_size, self.shape)):
                return take_chosen(compute, self, parts)
        return compute(self, index)

    return __getitem__


def _find_known_slice(part: object) -> Any:
    """Return a slice whose bounds are known, if they follow from constants; of a symbol for a size, a number."""
    if type(part) is not slice:
        return as_numbers(part)
    return slice(if_constant(part.start), if_constant(part.stop), if_constant(part.step))


def _check_index(shape: Any, parts: tuple[Any, ...]) -> None:
    """Raise for indices that are known to be out of range: JAX takes the nearest element.

    Raises:
        BadArgumentError: As TensorFlow.
    """
    takes = [dims_of(part) for part in parts]
    count, rank = sum(takes), len(shape)
    if count > rank:
        raise BadArgumentError(
            f"Index out of range using input dim {rank}; input has only {rank} dims. Received: {count} indices for an "
            f"array of shape {tuple(shape)}."
        )
    dim = 0
    for part, taken in zip(parts, takes, strict=True):
        if part is Ellipsis:
            # What stands behind the dots counts from the last dimension.
            dim = rank - sum(takes[_place(parts) :])
            continue
        if taken == 1 and is_symbolic_size(shape[dim]):
            # An export for any size does not know it.
            pass
        elif taken == 1 and is_index(part):
            number = int(part)
            if not -shape[dim] <= number < shape[dim]:
                raise BadArgumentError(
                    f"slice index {number} of dimension {dim} out of bounds. Received: an array of shape "
                    f"{tuple(shape)}."
                )
        elif taken == 1 and is_traced(part) and np.dtype(part.dtype).kind in "iu" and not part.ndim:
            check_bound(part, Bound(-shape[dim], shape[dim], functools.partial(_no_slice, dim, tuple(shape))))
        elif isinstance(part, slice) and isinstance(part.step, int) and part.step == 0:
            raise BadArgumentError(f"strides[{dim}] must be non-zero. Received: {shown(part)}.")
        dim += taken


def _no_slice(dim: int, shape: tuple[int, ...], _: np.ndarray, number: int, __: str) -> str:
    return f"slice index {number} of dimension {dim} out of bounds. Received: an array of shape {shape}."


def _place(parts: tuple[Any, ...]) -> int:
    return next(place for place, part in enumerate(parts) if part is Ellipsis)
