"""`stratax.range`: the numbers that a compiled loop counts through (core layer)."""

import builtins
import contextlib
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import keras
import numpy as np

from stratax import errors
from stratax.base.shown import shown
from stratax.base.tracing import as_numbers
from stratax.base.typing import DTypeLike
from stratax.core import known


class TracedRange:
    """A sequence of whole numbers, made by :func:`range`.

    Attributes:
        start: The first number, an int or a scalar array.
        stop: Where it ends (not included).
        delta: The distance between two numbers.
        dtype: The dtype of the numbers.
    """

    __slots__ = ("delta", "dtype", "start", "stop")

    def __init__(self, start: Any, stop: Any, delta: Any, dtype: DTypeLike) -> None:
        self.start = start
        self.stop = stop
        self.delta = delta
        self.dtype = dtype

    @property
    def is_static(self) -> bool:
        """Whether the bounds are known while a function is traced."""
        return not any(isinstance(bound, jax.core.Tracer) for bound in (self.start, self.stop, self.delta))

    @property
    def length(self) -> Any:
        """How many numbers there are: an int, or a traced int32 where a bound is traced."""
        if self.is_static:
            return len(self._plain())
        distance = self.stop - self.start
        # Rounded up, for either sign of delta: the floor of the negative distance is taken.
        return jnp.maximum(0, -(-distance // self.delta)).astype(jnp.int32)

    def element(self, index: Any) -> Any:
        """Return the number at `index`, an array of the range's dtype."""
        # A range of the host may have 64 bits; what a compiled loop counts with has those of the devices.
        dtype = jax.dtypes.canonicalize_dtype(self.dtype)
        # The plain cases leave no arithmetic in the compiled loop.
        scaled = index if isinstance(self.delta, int) and self.delta == 1 else index * self.delta
        shifted = scaled if isinstance(self.start, int) and self.start == 0 else self.start + scaled
        return jnp.asarray(shifted, dtype)

    def __iter__(self) -> Iterator[int]:
        return iter(self._plain())

    def __len__(self) -> int:
        return len(self._plain())

    def __jax_array__(self) -> jax.Array:
        return jnp.asarray(np.asarray(self))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.asarray(self._plain(), dtype or self.dtype)

    def __getitem__(self, key: object) -> Any:
        return self.__jax_array__()[key]

    def __getattr__(self, name: str) -> Any:
        # What an array has: `shape`, `reshape`... Python asks for private names on its own account.
        if name.startswith("_"):
            raise AttributeError(f"A range has no attribute {shown(name)}.", name=name)
        return getattr(self.__jax_array__(), name)

    def __repr__(self) -> str:
        return f"stratax.range(start={self.start}, stop={self.stop}, delta={self.delta}, dtype={self.dtype})"

    def _plain(self) -> builtins.range:
        if not self.is_static:
            raise errors.TracingError(
                "The bounds of this range are known only when the compiled function runs, so Python can't go through "
                "it. Expected: `for ... in stratax.range(n):` as a statement, directly in a function decorated with "
                "`stratax.function` (with autograph=True) or in one that it calls; not in a comprehension, list() or "
                f"len(). Received: {shown(self)}."
            )
        return builtins.range(int(self.start), int(self.stop), int(self.delta))


def _operator(name: str) -> Any:
    def operate(self: TracedRange, *operands: object) -> Any:
        # Beside an array of NumPy, as in a pipeline's function, it stays on the host.
        is_on_host = bool(operands) and all(isinstance(each, (np.ndarray, np.generic)) for each in operands)
        array = np.asarray(self) if is_on_host else self.__jax_array__()
        plain = [each.__jax_array__() if isinstance(each, TracedRange) else each for each in operands]
        return getattr(array, name)(*plain)

    operate.__name__ = name
    return operate


for _word in [
    "add",
    "sub",
    "mul",
    "truediv",
    "floordiv",
    "mod",
    "pow",
    "matmul",
    "and",
    "or",
    "xor",
    "lshift",
    "rshift",
]:
    for _prefix in ("", "r"):
        setattr(TracedRange, f"__{_prefix}{_word}__", _operator(f"__{_prefix}{_word}__"))
for _word in ("neg", "pos", "abs", "invert", "lt", "le", "gt", "ge", "eq", "ne"):
    setattr(TracedRange, f"__{_word}__", _operator(f"__{_word}__"))


def range(start: Any, stop: Any = None, delta: Any = 1, dtype: object = None) -> TracedRange:
    """Count whole numbers from `start` to `stop`: inside a compiled function a loop over them is one compiled loop.

    Follows `tf.range`, for whole numbers. `for i in stratax.range(n):` in a `stratax.function` compiles its body once
    whatever `n` is, and `n` may be an array (another value of it needs no new trace). Outside of compiled functions the
    loop is Python's and `i` is an int. `range(n)` counts from 0.

    In a compiled loop, locals that the body assigns keep their shapes and dtypes from one iteration to the next (a
    Python number takes the dtype that the body gives it); a local that is first assigned in the body has
    the last iteration's value afterwards, and zeros if an array `n` was 0. A loop with `break` or `return` that
    depends on an array is compiled too, but can't be differentiated from outside. What the body appends to a list
    belongs to one iteration and can't be used after the loop: keep an array and set its elements,
    `values = values.at[i].set(value)`.

    Args:
        start: The first number: an int or a scalar array of integers. The end, if `stop` is left out.
        stop: The end, not included.
        delta: The distance between two numbers; not zero.
        dtype: The dtype of the numbers in a compiled loop or as an array. By default that of the bounds, int32 for
            Python ints.

    Returns:
        An iterable with `len()`, convertible to an array of shape `(len,)` (`jax.numpy.asarray`, `numpy.asarray`). Its
        operators, indices and attributes are those of this array.

    Raises:
        BadTypeError: A bound or `dtype` is not one of whole numbers.
        BadArgumentError: A bound is not a scalar, or `delta` is zero.

    Example:
        >>> import stratax as sx
        >>> list(sx.range(2, 8, 3))
        [2, 5]
        >>> @sx.function
        ... def power(x, n):
        ...     result = 1.0
        ...     for _ in sx.range(n):
        ...         result *= x
        ...     return result
        >>> float(power(2.0, 10))
        1024.0
    """
    if stop is None:
        start, stop = 0, start
    bounds = [_check(name, value) for name, value in (("start", start), ("stop", stop), ("delta", delta))]
    # A traced delta of 0 cannot be refused here.
    if not isinstance(bounds[2], jax.core.Tracer) and int(bounds[2]) == 0:
        raise errors.BadArgumentError(
            f"`stratax.range` would never end. Expected: delta other than 0. Received: delta={shown(delta)}. "
            "Leave it out to count up by one."
        )
    return TracedRange(bounds[0], bounds[1], bounds[2], _range_dtype(bounds, dtype))


def _check(name: str, value: object) -> Any:
    """Return a bound as an int, or as it is where it is traced."""
    if type(value) is int:
        return value
    value = as_numbers(value.value if isinstance(value, keras.Variable) else value)
    if isinstance(value, jax.core.Tracer):
        # What follows from constants is known.
        with contextlib.suppress(LookupError):
            value = known.constant_of(value)
    # `bool` is an `int` for Python, but no bound.
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return int(value)
    if not isinstance(value, (jax.Array, np.ndarray)) or not jnp.issubdtype(value.dtype, jnp.integer):
        dtype = getattr(value, "dtype", type(value).__name__)
        raise errors.BadTypeError(
            f"`stratax.range` counts in whole numbers. Expected: {name} to be an int or a scalar array of integers. "
            f"Received: {name}={shown(value)} of type {dtype}. Convert it with `int(...)` or "
            "`keras.ops.cast(..., 'int32')`."
        )
    if value.shape != ():
        raise errors.BadArgumentError(
            f"`stratax.range` needs scalars. Expected: {name} of shape (). "
            f"Received: {name} of shape={tuple(value.shape)}. To loop over an array's rows write `for row in array`."
        )
    return value if isinstance(value, jax.core.Tracer) else _Known(value)


class _Known(int):
    """A bound that was given as an array of a known value; remembers the array's dtype."""

    dtype: np.dtype

    def __new__(cls, array: Any) -> "_Known":
        self = super().__new__(cls, int(np.asarray(array)))
        self.dtype = np.dtype(array.dtype)
        return self


def _range_dtype(bounds: list[Any], dtype: Any) -> np.dtype:
    if dtype is None:
        dtypes = [bound.dtype for bound in bounds if isinstance(bound, (_Known, jax.Array))]
        return np.result_type(*dtypes) if dtypes else np.dtype(np.int32)
    name = getattr(dtype, "name", dtype)
    if not jnp.issubdtype(name, jnp.integer):
        raise errors.BadTypeError(
            "`stratax.range` counts in whole numbers. Expected: an integer dtype. "
            f"Received: dtype={shown(dtype)}. Convert the numbers in the loop: `keras.ops.cast(i, {shown(name)})`."
        )
    return np.dtype(name)
