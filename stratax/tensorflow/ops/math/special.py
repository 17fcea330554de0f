"""Special functions of `tf.math` (ops layer): SciPy's on the host, JAX' on devices.

Of float16 and bfloat16 they are computed in float32.
"""

import functools
import importlib
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from stratax.base.typing import Array, TensorLike
from stratax.tensorflow.ops.calls._computed import array_function, as_floating, call_with_library_alike
from stratax.tensorflow.ops.calls.op import op

_HALF = ("float16", "bfloat16")


@functools.cache
def library_function(path: str) -> Callable[..., Any]:
    """Return the function of a path such as `scipy.special.erf`, imported when it is first needed."""
    module, _, name = path.rpartition(".")
    function: Callable[..., Any] = getattr(importlib.import_module(module), name)
    return function


def _special(
    name: str, parameters: str, host: str | Callable[..., Any], device: str | Callable[..., Any], what: str
) -> Any:
    """Make a function of arrays of one dtype.

    Args:
        name: Its name in `tf.math`.
        parameters: The names of its operands.
        host: The function, or the path of the function, that computes with NumPy's arrays.
        device: Likewise with JAX'.
        what: What it gives, for the docstring.
    """

    def compute(library: ModuleType, *arrays: Array) -> Any:
        # A path is imported at the first call: SciPy's functions take long to import.
        of = host if library is np else device
        function = library_function(of) if isinstance(of, str) else of
        # TensorFlow refuses whole numbers.
        arrays = tuple(map(as_floating, arrays))
        # SciPy computes in 64 bits, what it gives has the operands' dtype again.
        dtype = library.result_type(*arrays)
        # Not all of these functions are there for 16 bits.
        if dtype.name in _HALF:
            arrays = tuple(array.astype("float32") for array in arrays)
        return library.asarray(function(*arrays)).astype(dtype)[()]

    return array_function(
        f"math.{name}", parameters, compute, what, "An array of a floating-point dtype, or a number."
    )


def _of_nonzero(
    compute: Callable[[Any, Any, Any], Any], harmless: int
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return what is 0, and its gradients too, where the first operand is 0; for the host and for devices."""

    def function(xp: ModuleType, x: TensorLike, y: TensorLike) -> Any:
        is_zero = x == 0
        # Chosen before and after: else the gradient would be NaN where the other operand is 0, too.
        result = compute(xp, x, xp.where(is_zero, xp.full_like(y, harmless), y))
        return xp.where(is_zero, xp.zeros_like(result), result)

    def on_device(x: TensorLike, y: TensorLike) -> Any:
        import jax.numpy as jnp

        return function(jnp, x, y)

    return functools.partial(function, np), on_device


_S, _J = "scipy.special.", "jax.scipy.special."

bessel_i0 = _special("bessel_i0", "x", _S + "i0", _J + "i0", "The modified Bessel function of order 0")
bessel_i0e = _special("bessel_i0e", "x", _S + "i0e", _J + "i0e", "exp(-abs(x)) * bessel_i0(x)")
bessel_i1 = _special("bessel_i1", "x", _S + "i1", _J + "i1", "The modified Bessel function of order 1")
bessel_i1e = _special("bessel_i1e", "x", _S + "i1e", _J + "i1e", "exp(-abs(x)) * bessel_i1(x)")
betainc = _special(
    "betainc", "a b x", _S + "betainc", _J + "betainc", "The regularized incomplete beta integral"
)
dawsn = _special("special.dawsn", "x", _S + "dawsn", _J + "dawsn", "Dawson's integral")
digamma = _special("digamma", "x", _S + "psi", _J + "digamma", "The derivative of :func:`lgamma`")
erf = _special("erf", "x", _S + "erf", _J + "erf", "The error function")
erfc = _special("erfc", "x", _S + "erfc", _J + "erfc", "1 - erf(x), exact where that is small")
erfcinv = _special(
    # Of the normal distribution's quantiles: erfcinv(x) = -ndtri(x / 2) / sqrt(2). JAX has none of its own.
    "erfcinv", "x", _S + "erfcinv", lambda x: library_function(_J + "ndtri")(x / 2) * -np.sqrt(0.5).item(),
    "The inverse of :func:`erfc`",
)  # fmt: skip
erfinv = _special("erfinv", "x", _S + "erfinv", _J + "erfinv", "The inverse of :func:`erf`")
expint = _special("special.expint", "x", _S + "expi", _J + "expi", "The exponential integral")
fresnel_cos = _special(
    "special.fresnel_cos", "x", lambda x: library_function(_S + "fresnel")(x)[1],
    lambda x: library_function(_J + "fresnel")(x)[1], "Fresnel's cosine integral",
)  # fmt: skip
fresnel_sin = _special(
    "special.fresnel_sin", "x", lambda x: library_function(_S + "fresnel")(x)[0],
    lambda x: library_function(_J + "fresnel")(x)[0], "Fresnel's sine integral",
)  # fmt: skip
igamma = _special(
    "igamma", "a x", _S + "gammainc", _J + "gammainc", "The lower regularized incomplete Gamma function"
)
igammac = _special(
    "igammac", "a x", _S + "gammaincc", _J + "gammaincc", "The upper regularized incomplete Gamma function"
)
lgamma = _special(
    "lgamma", "x", _S + "gammaln", _J + "gammaln", "The logarithm of the absolute value of Gamma(x)"
)
ndtri = _special("ndtri", "x", _S + "ndtri", _J + "ndtri", "The quantile of the standard normal distribution")
nextafter = _special(
    "nextafter",
    "x1 x2",
    "numpy.nextafter",
    "jax.numpy.nextafter",
    "The next number after x1 in the direction of x2",
)
polygamma = _special(
    "polygamma",
    "a x",
    _S + "polygamma",
    lambda a, x: _polygamma(a, x),
    "The derivative of order a of digamma(x)",
)
spence = _special("special.spence", "x", _S + "spence", _J + "spence", "Spence's integral")
xdivy = _special(
    "xdivy", "x y", *_of_nonzero(lambda xp, x, y: x / y, 1), "x / y, and 0 where x is 0",
)  # fmt: skip
xlog1py = _special(
    "xlog1py", "x y", *_of_nonzero(lambda xp, x, y: x * xp.log1p(y), 0), "x * log1p(y), and 0 where x is 0"
)  # fmt: skip
xlogy = _special(
    "xlogy", "x y", *_of_nonzero(lambda xp, x, y: x * xp.log(y), 1), "x * log(y), and 0 where x is 0"
)  # fmt: skip
zeta = _special("zeta", "x q", _S + "zeta", _J + "zeta", "The Hurwitz zeta function")


def _polygamma(a: Array, x: Array) -> Any:
    import jax.numpy as jnp

    # JAX takes orders that are whole numbers by their dtype, TensorFlow by their value.
    return jnp.where(a == jnp.trunc(a), library_function(_J + "polygamma")(a.astype("int32"), x), jnp.nan)


@op
def lbeta(x: TensorLike) -> Any:
    """Return the logarithm of the absolute value of Beta over the last dimension, as `tf.math.lbeta`.

    Args:
        x: An array of positive numbers of at least one dimension.

    Returns:
        An array without the last dimension; on the host if `x` is.
    """
    return call_with_library_alike(lambda xp, x: xp.sum(lgamma(x), -1) - lgamma(xp.sum(x, -1)), x)
