"""Assertions on values, as in `tf.debugging` (ops layer).

What is known raises at once. In a compiled function the program runs to its end and then raises; no variable has
changed then.
"""

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stratax.base.recording import recordable
from stratax.base.shown import shown
from stratax.base.tracing import is_traced
from stratax.base.typing import Array, TensorLike
from stratax.core import host
from stratax.errors import BadArgumentError, BadTypeError
from stratax.tensorflow.ops.calls._host import is_on_host
from stratax.tensorflow.ops.calls.creation import convert_to_tensor
from stratax.tensorflow.ops.calls.text import as_text, holds_text

# How many elements a message shows.
_NUM_SHOWN = 3
# Of `tf.debugging.assert_near`: so many times the smallest difference of the dtype from 1.
_NUM_EPSILONS = 10
_ENDS = tuple(".!?:;")


def _pairwise(name: str, symbol: str, compare: Callable[[Any, Any], Any]) -> Any:
    """Return the assertion that a comparison holds for all pairs of elements."""

    def function(
        x: TensorLike,
        y: TensorLike,
        message: str | None = None,
        summarize: int | None = None,
        name: str | None = None,
    ) -> None:
        del summarize, name
        _check_pairs(x, y, compare, f"Condition x {symbol} y did not hold.", message)

    return _name(function, name, f"Assert that x {symbol} y for all elements, as `tf.debugging.{name}`.")


def _unary(name: str, condition: str, compare: Callable[[Any, Any], Any]) -> Any:
    """Return the assertion that a comparison with zero holds for all elements."""

    def function(
        x: TensorLike, message: str | None = None, summarize: int | None = None, name: str | None = None
    ) -> None:
        del summarize, name
        # TensorFlow compares with a zero of the array's dtype; a Python 0 takes it.
        (array,) = _operands(x)
        text = f"Condition x {condition} did not hold element-wise."
        _check_elements(compare(array, 0), (array,), ("x",), text, message)

    return _name(
        function,
        name,
        f"Assert that x {condition} for all elements, as `tf.debugging.{name}`.",
        is_unary=True,
    )


def _name(function: Callable[..., None], name: str, summary: str, *, is_unary: bool = False) -> Any:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = summary + (_DOC.replace(_Y_DOC, "") if is_unary else _DOC)
    return function


_Y_DOC = """
    y: Another one, which `x` is broadcast with."""
_DOC = f"""

Args:
    x: An array.{_Y_DOC}
    message: What the error says first.
    summarize: Ignored: the message shows the first element for which it does not hold.
    name: Ignored.

Raises:
    BadArgumentError: It does not hold. A compiled function raises it when its program has run."""


def _operands(*values: object) -> list[Any]:
    """Return values as arrays of NumPy if all are on the host, else as arrays that JAX computes with."""
    if any(map(holds_text, values)):
        return [as_text("x", value) for value in values]
    # What poses as NumPy's array stays what it is: a pipeline sees the comparison.
    if is_on_host(*values) or not any(map(_is_on_device, values)):
        return [value if hasattr(type(value), "__array_ufunc__") else np.asarray(value) for value in values]
    import jax.numpy as jnp
    import keras

    for value in values:
        if isinstance(value, keras.KerasTensor):
            raise BadTypeError(
                "Nothing can be asserted of a symbolic tensor of Keras, which has no values. Assert it in the `call` "
                f"of a layer. Received: {shown(value)}."
            )
    return [jnp.asarray(value) for value in values]


def _is_on_device(value: TensorLike) -> bool:
    if isinstance(value, list | tuple):
        return any(map(_is_on_device, value))
    return (
        is_traced(value)
        or hasattr(value, "__jax_array__")
        or hasattr(value, "addressable_shards")
        or hasattr(value, "dtype")
    )


def _check_pairs(
    x: TensorLike, y: TensorLike, compare: Callable[[Any, Any], Any], condition: str, message: str | None
) -> None:
    first, second = _operands(x, y)
    try:
        np.broadcast_shapes(np.shape(first), np.shape(second))
    except ValueError as error:
        raise BadArgumentError(
            f"Values are compared element by element. Expected: shapes that broadcast. Received: {np.shape(first)} and "
            f"{np.shape(second)}."
        ) from error
    _check_elements(compare(first, second), (first, second), ("x", "y"), condition, message)


def _check_elements(
    holds: Any, operands: Sequence[Any], names: Sequence[str], condition: str, message: str | None
) -> None:
    """Raise unless a condition holds for all elements; tell the first for which it does not."""
    shape = np.shape(holds)
    # Of no elements everything holds.
    if 0 in shape:
        return
    # A sentence of its own, also where it has an end already.
    prefix = f"{message}{'' if message[-1:] in _ENDS else '.'} " if message else ""

    def describe(count: Any, index: Any, *elements: Any) -> str:
        place = tuple(int(position) for position in np.unravel_index(int(index), shape))
        where = f" at {place}" if shape else ""
        values = ", ".join(f"{name} = {element}" for name, element in zip(names, elements, strict=True))
        size = math.prod(shape)
        return f"{prefix}{condition} {int(count)} of {size} elements; the first{where}: {values}."

    if not is_traced(holds):
        if _are_true(holds):
            return
        wrong = ~np.asarray(holds)
        first = int(np.argmax(wrong.ravel()))
        elements = [np.broadcast_to(np.asarray(value), shape).ravel()[first] for value in operands]
        raise BadArgumentError(describe(wrong.sum(), first, *elements))
    import jax.numpy as jnp

    flat = jnp.ravel(holds)
    # The first that is false. Only it leaves the device.
    index = jnp.argmin(flat)
    elements = [jnp.ravel(jnp.broadcast_to(value, shape))[index] for value in operands]
    host.check(jnp.all(flat), [jnp.sum(~flat), index, *elements], describe)


def _are_true(holds: TensorLike) -> bool:
    return bool(np.all(holds) if hasattr(type(holds), "__array_ufunc__") else np.asarray(holds).all())


def _equal(x: TensorLike, y: TensorLike) -> Any:
    return x == y


assert_equal = _pairwise("assert_equal", "==", _equal)
assert_less = _pairwise("assert_less", "<", lambda x, y: x < y)
assert_less_equal = _pairwise("assert_less_equal", "<=", lambda x, y: x <= y)
assert_greater = _pairwise("assert_greater", ">", lambda x, y: x > y)
assert_greater_equal = _pairwise("assert_greater_equal", ">=", lambda x, y: x >= y)
assert_negative = _unary("assert_negative", "< 0", lambda x, y: x < y)
assert_non_negative = _unary("assert_non_negative", ">= 0", lambda x, y: x >= y)
assert_non_positive = _unary("assert_non_positive", "<= 0", lambda x, y: x <= y)
assert_positive = _unary("assert_positive", "> 0", lambda x, y: x > y)


def assert_none_equal(
    x: TensorLike,
    y: TensorLike,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> None:
    """Assert that x != y for all elements, as `tf.debugging.assert_none_equal`.

    Args:
        x: An array.
        y: Another one, which `x` is broadcast with.
        summarize: Ignored: the message shows the first element for which it does not hold.
        message: What the error says first.
        name: Ignored.

    Raises:
        BadArgumentError: It does not hold. A compiled function raises it when its program has run.
    """
    del summarize, name
    _check_pairs(x, y, lambda a, b: a != b, "Condition x != y did not hold.", message)


def assert_near(
    x: TensorLike,
    y: TensorLike,
    rtol: TensorLike | None = None,
    atol: TensorLike | None = None,
    message: str | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> None:
    """Assert that two arrays are close, as `tf.debugging.assert_near`: abs(x - y) <= atol + rtol * abs(y).

    Args:
        x: An array of floating point numbers.
        y: Another one, which `x` is broadcast with.
        rtol: The relative difference that is allowed; None: ten times the dtype's smallest difference from 1.
        atol: The absolute difference that is allowed; None: likewise.
        message: What the error says first.
        summarize: Ignored: the message shows the first element for which it does not hold.
        name: Ignored.

    Raises:
        BadArgumentError: They are not close. A compiled function raises it when its program has run.
        BadTypeError: They are no floating point numbers.
    """
    del summarize, name
    import ml_dtypes

    first, _ = _operands(x, y)
    try:
        # NumPy's own `finfo` does not know bfloat16.
        least = _NUM_EPSILONS * float(ml_dtypes.finfo(first.dtype).eps)
    except ValueError as error:
        raise BadTypeError(
            f"Floating point numbers are near one another. Received: x of dtype {first.dtype}. Use assert_equal."
        ) from error
    relative, absolute = (least if given is None else given for given in (rtol, atol))
    condition = f"x and y not equal to tolerance rtol = {shown(relative)}, atol = {shown(absolute)}."
    _check_pairs(x, y, lambda a, b: abs(a - b) <= absolute + relative * abs(b), condition, message)


def Assert(
    condition: TensorLike, data: TensorLike, summarize: int | None = None, name: str | None = None
) -> None:
    """Raise an error with some values unless a condition holds, as `tf.debugging.Assert`.

    Args:
        condition: A boolean, or an array whose elements all have to be true.
        data: A list of values for the message.
        summarize: How many elements of each it shows; None: 3, -1: all.
        name: Ignored.

    Raises:
        BadArgumentError: It does not hold. A compiled function raises it when its program has run.
    """
    del name
    (holds,) = _operands(condition)
    count = _NUM_SHOWN if summarize is None else summarize
    parts = [_summary(part, count) for part in (data if isinstance(data, list | tuple) else [data])]
    traced = [index for index, (array, _) in enumerate(parts) if is_traced(array)]
    # Without what only the program knows: the message may be made in a worker.
    known = [(None if index in traced else array, more) for index, (array, more) in enumerate(parts)]

    def describe(*arrays: Array) -> str:
        values = dict(zip(traced, arrays, strict=True))
        texts = [_text(values.get(index, array), more) for index, (array, more) in enumerate(known)]
        return "Expected the condition to be true. Summarized data: " + "\n".join(texts)

    if not is_traced(holds):
        if not _are_true(holds):
            _raise(describe, [parts[index][0] for index in traced])
        return
    import jax.numpy as jnp

    host.check(jnp.all(holds), [parts[index][0] for index in traced], describe)


def _raise(describe: Callable[..., str], traced: Sequence[Any]) -> None:
    """Raise what is known not to hold, or have the program raise it with the values that only it knows."""
    if not traced:
        raise BadArgumentError(describe())
    host.check(False, traced, describe)


def _summary(value: TensorLike, count: int) -> tuple[Any, bool]:
    """Return the first elements of a value as a flat array, or text, and whether there are more."""
    if isinstance(value, str | bytes):
        return value, False
    (array,) = _operands(value)
    flat = array.reshape(-1)
    return (flat, False) if count < 0 else (flat[:count], flat.size > count)


def _text(value: TensorLike, has_more: bool) -> str:
    if isinstance(value, str | bytes):
        return value if isinstance(value, str) else value.decode("utf-8", "replace")
    elements = [str(element) for element in np.asarray(value).tolist()]
    return ", ".join([*elements, "..."] if has_more else elements)


@recordable
def check_numerics(tensor: TensorLike, message: str, name: str | None = None) -> Any:
    """Assert that an array has neither NaN nor infinite numbers, and return it, as `tf.debugging.check_numerics`.

    Args:
        tensor: An array of floating point numbers.
        message: What the error says first.
        name: Ignored.

    Returns:
        The array.

    Raises:
        BadArgumentError: There is such a number. A compiled function raises it when its program has run.
        BadTypeError: The array is not of floating point numbers.
    """
    del name
    (array,) = _operands(tensor)
    # bfloat16 is of kind V.
    if array.dtype.kind not in "fV" and array.dtype.name != "bfloat16":
        raise BadTypeError(
            f"Only floating point numbers can be NaN or infinite. Received: an array of {array.dtype}."
        )
    if not is_traced(array):
        values = np.asarray(array, np.float64)
        _raise_unless_finite(np.isnan(values).any(), np.isinf(values).any(), message)
        return tensor if hasattr(tensor, "dtype") else convert_to_tensor(tensor)
    import jax.numpy as jnp

    has_nan, has_inf = jnp.isnan(array).any(), jnp.isinf(array).any()
    # The message says which of both there are, so both leave the program.
    host.check(~(has_nan | has_inf), [has_nan, has_inf], functools.partial(_not_finite, message))
    return tensor if hasattr(tensor, "dtype") else array


def assert_all_finite(x: TensorLike, message: str, name: str | None = None) -> Any:
    """Assert that an array has finite numbers only, as `tf.debugging.assert_all_finite`: :func:`check_numerics`."""
    return check_numerics(x, message, name)


def _raise_unless_finite(has_nan: object, has_inf: object, message: str) -> None:
    if has_nan or has_inf:
        raise BadArgumentError(_not_finite(message, has_nan, has_inf))


def _not_finite(message: str, has_nan: object, has_inf: object) -> str:
    found = " and ".join(
        kind for kind, is_there in (("Inf", bool(has_inf)), ("NaN", bool(has_nan))) if is_there
    )
    return f"{message} : Tensor had {found} values."
