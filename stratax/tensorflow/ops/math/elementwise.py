"""Functions of `tf` and `tf.math` that work element by element (ops layer).

All keep NumPy arrays on the host (see `ops/_host.py`). Operands of different dtypes are promoted as `keras.ops`
and NumPy do, where TensorFlow raises.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from stratax.base.shown import shown
from stratax.base.tracing import is_traced
from stratax.base.typing import Array, TensorLike
from stratax.data.elements import check_divisor, quotient_dtype
from stratax.errors import BadArgumentError
from stratax.tensorflow.ops.calls._computed import with_lists_alike
from stratax.tensorflow.ops.calls._host import TEXT, is_on_host, kinds_of
from stratax.tensorflow.ops.calls._keras_ops import ops, put
from stratax.tensorflow.ops.calls.labels import TextSymbol
from stratax.tensorflow.ops.calls.logits import remember_in_graph
from stratax.tensorflow.ops.calls.naming import of_same_rows
from stratax.tensorflow.ops.calls.op import op
from stratax.tensorflow.ops.calls.text import as_text

# What gives infinite or undefined numbers, of which NumPy warns and TensorFlow does not.
_UNDEFINED = {
    "acos", "acosh", "asin", "atanh", "cos", "cosh", "divide", "divide_no_nan", "exp", "expm1", "floordiv", "log",
    "log1p", "mod", "pow", "reciprocal", "rsqrt", "sigmoid", "sin", "sinh", "sqrt", "tan",
}  # fmt: skip

# What gives whole numbers, or truth, of whole numbers.
_OF_WHOLE = {
    "ceil", "floor", "is_finite", "is_inf", "is_nan", "logical_not", "negative", "reciprocal", "rint", "round", "sign",
    "square",
}  # fmt: skip
# Of NumPy's fractions of 8 bits, which have three digits; and what has no sign, whose negative is none.
_UNLIKE_FRACTIONS = {np.dtype(each) for each in (bool, np.int8, np.uint8, np.uint16, np.uint32, np.uint64)}


def _silent(name: str, numpy_function: Callable[..., Any]) -> Callable[..., Any]:
    return np.errstate(all="ignore")(numpy_function) if name in _UNDEFINED else numpy_function


def _unary(
    name: str,
    numpy_function: Callable[..., Any],
    what: str,
    keras_name: str = "",
    note: Callable[[Any, Any, str], Any] | None = None,
) -> Any:
    numpy_function = _silent(name, numpy_function)
    device_function = getattr(ops, keras_name or name)
    gives_fractions = name not in _OF_WHOLE

    def function(x: TensorLike) -> Any:
        if is_on_host(x):
            if gives_fractions and isinstance(x, np.ndarray | np.generic) and x.dtype in _UNLIKE_FRACTIONS:
                x = x.astype(np.float32)
            return numpy_function(x)
        return device_function(x) if note is None else note(device_function(x), x, name)

    return op(name=name, doc=f"{what}, as `tf.math.{name}`.\n\n{_UNARY_DOC}", arrays=["x"])(function)


def _binary(name: str, numpy_function: Callable[..., Any], what: str, keras_name: str = "") -> Any:
    numpy_function = _silent(name, numpy_function)
    device_function = getattr(ops, keras_name or name)

    def function(x: TensorLike, y: TensorLike) -> Any:
        x, y = with_lists_alike(x, y)
        return numpy_function(x, y) if is_on_host(x, y) else device_function(x, y)

    return op(
        name=name,
        doc=f"{what}, as `tf.math.{name}`.\n\n{_BINARY_DOC}",
        arrays=["x", "y"],
        # JAX multiplies where it sees that the exponent is a whole number.
        numbers=name != "pow",
    )(function)


def _or_text(function: Any, numpy_function: Callable[..., Any]) -> Any:
    """Return the same function, which takes two operands of text as well."""
    # What `op` made of it is made once, of the function below.
    compute = function.__wrapped__

    def with_text(x: TensorLike, y: TensorLike) -> Any:
        if not kinds_of((x, y)) & TEXT:
            return compute(x, y)
        for operand in (x, y):
            # Text that is known later only: the same is computed of it then.
            if isinstance(operand, TextSymbol):
                others = [each if isinstance(each, TextSymbol) else as_text("y", each) for each in (x, y)]
                return operand.apply(numpy_function.__name__, numpy_function, others)
        return numpy_function(as_text("x", x), as_text("y", y))

    doc = (function.__doc__ or "").replace("number.", "number, or text.", 1)
    return op(name=function.__name__, doc=doc, arrays=["x", "y"])(with_text)


def _absolute(name: str, what: str) -> Any:
    def function(x: TensorLike) -> Any:
        if is_on_host(x):
            return np.absolute(x)
        # Floats get TensorFlow's gradient; others have none.
        operands = _of_one_dtype(x)
        return ops.abs(x) if operands is None else _magnitude()(*operands)

    return op(
        name=name,
        doc=f"{what}, as `tf.math.{name}`; with a gradient of 0 at 0.\n\n{_UNARY_DOC}",
        arrays=["x"],
    )(function)


def _extreme(name: str, numpy_function: Callable[..., Any], what: str) -> Any:
    device_function = getattr(ops, name)

    def function(x: TensorLike, y: TensorLike) -> Any:
        x, y = with_lists_alike(x, y)
        if is_on_host(x, y):
            return numpy_function(x, y)
        operands = _of_one_dtype(x, y)
        return device_function(x, y) if operands is None else _choice(function.__name__)(*operands)

    return op(
        name=name, doc=f"{what}, as `tf.math.{name}`.\n\n{_BINARY_DOC}{_EXTREME_DOC}", arrays=["x", "y"]
    )(function)


def _of_one_dtype(*operands: object) -> tuple[Any, ...] | None:
    """Return operands as arrays of one dtype, if that is floating-point and they have values."""
    import jax
    import keras

    dtypes: list[Any] = []
    numbers: list[Any] = []
    for each in operands:
        if isinstance(each, keras.KerasTensor):
            return None
        if hasattr(each, "dtype"):
            dtypes.append(each.dtype)
        elif not isinstance(each, list | tuple):
            numbers.append(type(each))
    if not dtypes or kinds_of(operands) & TEXT:
        return None
    # A list takes the dtype of the array beside it.
    has_lists = len(dtypes) + len(numbers) < len(operands)
    dtype = keras.backend.result_type(*(dtypes if has_lists else [*dtypes, *numbers]))
    if not jax.numpy.issubdtype(dtype, jax.numpy.floating):
        return None
    return tuple([put(each, dtype) for each in operands])


@functools.cache
def _magnitude() -> Any:
    """Return the absolute value with TensorFlow's gradient at 0, which is 0; JAX' is 1."""
    import jax
    import jax.numpy as jnp

    magnitude = jax.custom_jvp(jnp.abs)

    @magnitude.defjvp
    def _(primals: Array, tangents: Array) -> Any:
        return jnp.abs(*primals), jnp.sign(*primals) * tangents[0]

    return magnitude


@functools.cache
def _choice(name: str) -> Any:
    """Return `maximum` or `minimum` of arrays of one dtype, with TensorFlow's gradient where both are equal."""
    import jax
    import jax.numpy as jnp

    compute, is_first = getattr(jnp, name), jnp.greater_equal if name == "maximum" else jnp.less_equal

    @jax.custom_jvp
    def choose(x: TensorLike, y: TensorLike) -> Any:
        return compute(x, y)

    @choose.defjvp
    def _(primals: Array, tangents: Array) -> Any:
        # The first operand's, all of it: JAX shares it between both.
        return compute(*primals), jnp.where(is_first(*primals), *tangents)

    return choose


_EXTREME_DOC = " Where both are equal the gradient is that of `x`."


def _division(name: str, numpy_function: Callable[..., Any], what: str, keras_name: str = "") -> Any:
    divide = _binary(name, numpy_function, what, keras_name)

    def function(x: TensorLike, y: TensorLike) -> Any:
        # XLA gives any number for an integer divided by zero, so it is checked wherever values are known.
        if not (is_traced(x) or is_traced(y)) and _has_value(x) and _has_value(y):
            check_divisor(divide.__name__, x, y)
        return divide(x, y)

    return op(name=name, doc=f"{what}, as `tf.math.{name}`.\n\n{_BINARY_DOC}{_DIVISION_DOC}")(function)


def _has_value(operand: TensorLike) -> bool:
    """Return whether it can be looked at: a symbolic tensor of Keras has none."""
    return (
        is_on_host(operand)
        or isinstance(operand, (int, float, list, tuple))
        or hasattr(operand, "__jax_array__")
        # Arrays of a device have shards, tracers have none.
        or hasattr(operand, "addressable_shards")
    )


_DIVISION_DOC = """

Raises:
    BadArgumentError: Integers are divided by zero. A compiled program does not notice and gives any number."""

_UNARY_DOC = """Args:
    x: An array, on a device or on the host.

Returns:
    An array of x's shape, where `x` is."""

_BINARY_DOC = """Args:
    x: An array or number.
    y: Another, of a shape that broadcasts with x's.

Returns:
    An array of the broadcast shape; on the host if both operands are."""


def _rsqrt(x: TensorLike) -> Any:
    return np.reciprocal(np.sqrt(x))


def _sigmoid(x: Array) -> Any:
    return np.reciprocal(1 + np.exp(-x))


abs = _absolute("abs", "Absolute values")
acos = _unary("acos", np.arccos, "The angles whose cosine is x", "arccos")
acosh = _unary("acosh", np.arccosh, "The inverse of the hyperbolic cosine", "arccosh")
asin = _unary("asin", np.arcsin, "The angles whose sine is x", "arcsin")
asinh = _unary("asinh", np.arcsinh, "The inverse of the hyperbolic sine", "arcsinh")
atan = _unary("atan", np.arctan, "The angles whose tangent is x", "arctan")
atanh = _unary("atanh", np.arctanh, "The inverse of the hyperbolic tangent", "arctanh")
ceil = _unary("ceil", np.ceil, "The next whole numbers upwards")
cos = _unary("cos", np.cos, "The cosine of angles in radians")
cosh = _unary("cosh", np.cosh, "Hyperbolic cosines")
exp = _unary("exp", np.exp, "e to the power of x")
expm1 = _unary("expm1", np.expm1, "e to the power of x, less 1, exact near 0")
floor = _unary("floor", np.floor, "The next whole numbers downwards")
is_finite = _unary("is_finite", np.isfinite, "Whether elements are neither infinite nor NaN", "isfinite")
is_inf = _unary("is_inf", np.isinf, "Whether elements are infinite", "isinf")
is_nan = _unary("is_nan", np.isnan, "Whether elements are NaN", "isnan")
log = _unary("log", np.log, "Natural logarithms")
log1p = _unary("log1p", np.log1p, "Natural logarithms of 1 + x, exact near 0")
logical_not = _unary("logical_not", np.logical_not, "Whether elements are False")
negative = _unary("negative", np.negative, "-x")
reciprocal = _unary("reciprocal", np.reciprocal, "1 / x")
rint = _unary("rint", np.rint, "The nearest whole numbers, halves to even", "round")
round = _unary("round", np.round, "The nearest whole numbers, halves to even")
rsqrt = _unary("rsqrt", _rsqrt, "1 / sqrt(x)")
sigmoid = _unary("sigmoid", _sigmoid, "1 / (1 + exp(-x))", note=remember_in_graph)
sign = _unary("sign", np.sign, "-1, 0 or 1 for elements below, equal to and above 0")
sin = _unary("sin", np.sin, "The sine of angles in radians")
sinh = _unary("sinh", np.sinh, "Hyperbolic sines")
sqrt = _unary("sqrt", np.sqrt, "Square roots")
square = _unary("square", np.square, "x * x")
tan = _unary("tan", np.tan, "The tangent of angles in radians")
tanh = _unary("tanh", np.tanh, "Hyperbolic tangents")
add = _or_text(_binary("add", np.add, "x + y"), np.add)
atan2 = _binary("atan2", np.arctan2, "The angles of points (y, x): the first argument is y", "arctan2")
divide = _binary("divide", lambda x, y: _quotient(x, y), "x / y")
divide_no_nan = _binary("divide_no_nan", lambda x, y: _safe_divide(x, y), "x / y, and 0 where y is 0")
equal = _or_text(_binary("equal", np.equal, "x == y"), np.equal)
floordiv = _division("floordiv", np.floor_divide, "x // y", "floor_divide")
greater = _binary("greater", np.greater, "x > y")
greater_equal = _binary("greater_equal", np.greater_equal, "x >= y")
less = _binary("less", np.less, "x < y")
less_equal = _binary("less_equal", np.less_equal, "x <= y")
logical_and = _binary("logical_and", np.logical_and, "x and y")
logical_or = _binary("logical_or", np.logical_or, "x or y")
logical_xor = _binary("logical_xor", np.logical_xor, "Whether exactly one of x and y is True")
maximum = _extreme("maximum", np.maximum, "The larger of x and y")
minimum = _extreme("minimum", np.minimum, "The smaller of x and y")
mod = _division("mod", np.mod, "The remainder of x // y, with the sign of y")
multiply = _binary("multiply", np.multiply, "x * y")
not_equal = _or_text(_binary("not_equal", np.not_equal, "x != y"), np.not_equal)
pow = _binary("pow", np.power, "x to the power of y", "power")
subtract = _binary("subtract", np.subtract, "x - y")


@op(arrays=["x", "y"])
def squared_difference(x: TensorLike, y: TensorLike) -> Any:
    """(x - y) squared, as `tf.math.squared_difference`.

    Args:
        x: An array or number.
        y: Another, of a shape that broadcasts with x's.

    Returns:
        An array of the broadcast shape; on the host if both operands are.
    """
    return square(subtract(x, y))


@op(arrays=["t", "clip_value_min", "clip_value_max"])
def clip_by_value(t: TensorLike, clip_value_min: TensorLike, clip_value_max: TensorLike) -> Any:
    """`t` with elements outside of the limits replaced by the nearer limit, as `tf.clip_by_value`.

    Args:
        t: An array.
        clip_value_min: The lower limit, of a shape that broadcasts with t's.
        clip_value_max: The upper limit, likewise.

    Returns:
        An array of t's shape; on the host if the operands are.
    """
    # The lower limit is the last word where limits are in the wrong order, as in TensorFlow.
    if isinstance(t, np.ndarray) and is_on_host(t, clip_value_min, clip_value_max):
        _, low, high = with_lists_alike(t, clip_value_min, clip_value_max)
        return np.maximum(np.minimum(t, high), low)
    return of_same_rows(maximum(minimum(t, clip_value_max), clip_value_min), t)


@op
def scalar_mul(scalar: TensorLike, x: TensorLike) -> Any:
    """`x` times a number, as `tf.math.scalar_mul`.

    Args:
        scalar: The number.
        x: An array.

    Raises:
        BadArgumentError: If `scalar` has dimensions.
    """
    if np.ndim(scalar):
        raise BadArgumentError(
            f"Only a scalar can be multiplied with an array here. Received: scalar={shown(scalar)}. Use tf.multiply."
        )
    return of_same_rows(multiply(scalar, x), x)


def _safe_divide(x: TensorLike, y: TensorLike) -> Any:
    is_zero = np.equal(y, 0)
    # The divisor is replaced before the division: NumPy would warn about a quotient that is not used.
    return np.where(is_zero, 0, _quotient(x, np.where(is_zero, 1, y)))


def _quotient(x: TensorLike, y: TensorLike) -> Any:
    dtype = quotient_dtype(x, y)
    return np.true_divide(x, y) if dtype is None else np.true_divide(x, y, dtype=dtype)
