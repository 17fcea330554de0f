"""Runs the programs that JAX traces of simple array functions with NumPy (data layer).

A pipeline's functions run while the devices train. Dispatching them to XLA would compete with the training step for
the CPU client's threads, and costs more than the arithmetic; NumPy has neither problem. Only operations whose NumPy
form means the same are here; a program with any other raises :class:`NotInNumPy` when it is built.
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.extend.core
import jax.extend.core as jex
import numpy as np

from stratax.core import jaxprs

Step = Callable[..., Any]


class NotInNumPy(Exception):
    """The program has an operation without an equal in NumPy."""


def _is_float(aval: Any) -> bool:
    return np.issubdtype(aval.dtype, np.floating)


def _logistic(x: np.ndarray) -> np.ndarray:
    one = x.dtype.type(1)
    return one / (one + np.exp(-x))


_UFUNCS: dict[str, Any] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "max": np.maximum, "min": np.minimum, "neg": np.negative,
    "abs": np.absolute, "sign": np.sign, "square": np.square, "eq": np.equal, "ne": np.not_equal, "lt": np.less,
    "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal, "and": np.bitwise_and, "or": np.bitwise_or,
    "xor": np.bitwise_xor, "not": np.invert,
}  # fmt: skip
# Of integers XLA's results differ from NumPy's (division rounds to zero, powers wrap).
_FLOAT_UFUNCS: dict[str, Any] = {
    "div": np.true_divide, "rem": np.fmod, "pow": np.power, "floor": np.floor, "ceil": np.ceil, "exp": np.exp,
    "exp2": np.exp2, "log": np.log, "log1p": np.log1p, "expm1": np.expm1, "tanh": np.tanh, "sin": np.sin,
    "cos": np.cos, "sqrt": np.sqrt, "is_finite": np.isfinite, "logistic": _logistic,
}  # fmt: skip
_REDUCTIONS: dict[str, Any] = {
    "reduce_sum": np.sum, "reduce_prod": np.prod, "reduce_max": np.max, "reduce_min": np.min, "reduce_and": np.all,
    "reduce_or": np.any,
}  # fmt: skip
_CALLS = {"jit": "jaxpr", "pjit": "jaxpr", "custom_jvp_call": "call_jaxpr", "custom_vjp_call": "call_jaxpr"}


class NumPyProgram:
    """A traced function that runs with NumPy.

    Args:
        program: What `jax.make_jaxpr` gave.

    Raises:
        NotInNumPy: It has an operation that is not known here.
    """

    def __init__(self, program: jex.ClosedJaxpr) -> None:
        self._jaxpr = program.jaxpr
        self._constants = [np.asarray(constant) for constant in program.consts]
        self._steps = [(_step(eqn), eqn.invars, eqn.outvars) for eqn in jaxprs.equations(self._jaxpr)]
        # What nobody needs behind a step, so that memory is reused while in the cache.
        self._last_uses = jaxprs.last_uses(self._jaxpr)

    def __call__(self, arguments: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Return the results for `arguments`; an argument that is a result too is passed through, dtype included."""
        values: dict[Any, Any] = dict(zip(self._jaxpr.constvars, self._constants, strict=True))
        for var, argument in zip(self._jaxpr.invars, arguments, strict=True):
            # JAX has no 64 bits by default: the program computes in 32, and so does this.
            values[var] = argument.astype(var.aval.dtype, copy=False)
        # XLA does not warn, either.
        with np.errstate(all="ignore"):
            for (step, invars, outvars), spent in zip(self._steps, self._last_uses, strict=True):
                results = step(*[_read(values, var) for var in invars])
                for var, result in zip(outvars, results, strict=True):
                    values[var] = result
                for var in spent:
                    del values[var]
        passed = dict(zip(self._jaxpr.invars, arguments, strict=True))
        return [
            passed[var]
            if not isinstance(var, jex.Literal) and var in passed
            else np.asarray(_read(values, var))
            for var in self._jaxpr.outvars
        ]


def _read(values: dict[Any, Any], var: object) -> Any:
    if isinstance(var, jex.Literal):
        aval: Any = var.aval
        return np.asarray(var.val, aval.dtype)
    return values[var]


def _step(eqn: Any) -> Callable[..., list[Any]]:
    name = eqn.primitive.name
    if name in _CALLS:
        inner = eqn.params[_CALLS[name]]
        if not hasattr(inner, "consts"):
            raise NotInNumPy(name)
        program = NumPyProgram(inner)
        return lambda *values: program([np.asarray(value) for value in values])
    function = _single(name, eqn)
    dtype = eqn.outvars[0].aval.dtype
    # NumPy may promote where XLA does not.
    return lambda *values: [np.asarray(function(*values)).astype(dtype, copy=False)]


def _single(name: str, eqn: jax.extend.core.JaxprEqn) -> Step:
    if name in _UFUNCS:
        return _UFUNCS[name]
    if name in _FLOAT_UFUNCS and _is_float(eqn.invars[0].aval):
        return _FLOAT_UFUNCS[name]
    if name in _REDUCTIONS:
        reduction, axes = _REDUCTIONS[name], tuple(eqn.params["axes"])
        return lambda x: reduction(x, axis=axes)
    if name in _SPECIAL:
        return _SPECIAL[name](eqn.params, eqn)
    raise NotInNumPy(name)


def _convert(params: dict[str, Any], eqn: Any) -> Step:
    source, target = eqn.invars[0].aval.dtype, np.dtype(params["new_dtype"])
    # Out of range, XLA saturates and NumPy does anything.
    if np.issubdtype(source, np.floating) and target.kind in "iu":
        raise NotInNumPy("convert_element_type")
    return lambda x: x.astype(target)


def _broadcast_in_dim(params: dict[str, Any], eqn: jax.extend.core.JaxprEqn) -> Step:
    if len(eqn.invars) > 1:
        raise NotInNumPy("broadcast_in_dim")
    shape = tuple(params["shape"])
    dims = {int(dim) for dim in params["broadcast_dimensions"]}
    missing = tuple(axis for axis in range(len(shape)) if axis not in dims)
    return lambda x: np.broadcast_to(np.expand_dims(x, missing), shape)


def _reshape(params: dict[str, Any], eqn: jax.extend.core.JaxprEqn) -> Step:
    if len(eqn.invars) > 1 or params.get("dimensions") is not None:
        raise NotInNumPy("reshape")
    return lambda x: np.reshape(x, params["new_sizes"])


def _select_n(params: dict[str, Any], eqn: Any) -> Step:
    if eqn.invars[0].aval.dtype != np.bool_ or len(eqn.invars) != 3:
        raise NotInNumPy("select_n")
    return lambda which, if_false, if_true: np.where(which, if_true, if_false)


def _integer_pow(params: dict[str, Any], eqn: jax.extend.core.JaxprEqn) -> Step:
    exponent = params["y"]
    if exponent < 0 and not _is_float(eqn.invars[0].aval):
        raise NotInNumPy("integer_pow")
    return lambda x: np.power(x, x.dtype.type(exponent))


def _round(params: dict[str, Any], eqn: jax.extend.core.JaxprEqn) -> Step:
    # 1 is to the nearest even, as `np.round`.
    if int(params["rounding_method"]) != 1:
        raise NotInNumPy("round")
    return np.round


def _iota(params: dict[str, Any], eqn: jax.extend.core.JaxprEqn) -> Step:
    shape, dimension = tuple(params["shape"]), params["dimension"]
    if len(eqn.invars):
        raise NotInNumPy("iota")
    numbers = np.arange(shape[dimension], dtype=params["dtype"])
    numbers = numbers.reshape([-1 if axis == dimension else 1 for axis in range(len(shape))])
    return lambda: np.broadcast_to(numbers, shape)


def _slice(params: dict[str, Any], eqn: jax.extend.core.JaxprEqn) -> Step:
    strides = params["strides"] or (1,) * len(params["start_indices"])
    limits = zip(params["start_indices"], params["limit_indices"], strides, strict=True)
    parts = tuple(slice(*limit) for limit in limits)
    return lambda x: x[parts]


_SPECIAL: dict[str, Callable[[dict[str, Any], Any], Step]] = {
    "convert_element_type": _convert,
    "broadcast_in_dim": _broadcast_in_dim,
    "reshape": _reshape,
    "select_n": _select_n,
    "integer_pow": _integer_pow,
    "round": _round,
    "iota": _iota,
    "slice": _slice,
    "squeeze": lambda params, eqn: lambda x: np.squeeze(x, tuple(params["dimensions"])),
    "expand_dims": lambda params, eqn: lambda x: np.expand_dims(x, tuple(params["dimensions"])),
    "transpose": lambda params, eqn: lambda x: np.transpose(x, params["permutation"]),
    "rev": lambda params, eqn: lambda x: np.flip(x, tuple(params["dimensions"])),
    "concatenate": lambda params, eqn: lambda *parts: np.concatenate(parts, params["dimension"]),
    "clamp": lambda params, eqn: lambda low, x, high: np.minimum(np.maximum(x, low), high),
    "stack": lambda params, eqn: lambda *parts: np.stack(parts, params["axis"]),
    "copy": lambda params, eqn: lambda x: x,
    "stop_gradient": lambda params, eqn: lambda x: x,
    "copy_p": lambda params, eqn: lambda x: x,
    "rsqrt": lambda params, eqn: lambda x: np.reciprocal(np.sqrt(x)),
}


def trace(function: Callable[..., Any], arguments: Sequence[np.ndarray]) -> tuple[jex.ClosedJaxpr, Any]:
    """Trace `function` mapped over the leading axis of `arguments`; return the program and its results' shapes."""
    shapes = [jax.ShapeDtypeStruct(argument.shape, argument.dtype) for argument in arguments]
    return jax.make_jaxpr(jax.vmap(function), return_shape=True)(*shapes)


def divides_integers(program: jex.ClosedJaxpr) -> bool:
    """Return whether a program divides integers by something that may be 0."""
    return _divides(program.jaxpr, set())


def _divides(jaxpr: jax.extend.core.Jaxpr, nonzero: set[Any]) -> bool:
    """Return whether a part of a program divides; adds to `nonzero` those of its variables known not to be 0."""

    def is_nonzero(var: object) -> bool:
        return bool(np.all(var.val)) if isinstance(var, jex.Literal) else var in nonzero

    for eqn in jaxprs.equations(jaxpr):
        name, is_call = eqn.primitive.name, eqn.primitive.name in _CALLS
        if name in ("div", "rem") and not (_is_float(eqn.invars[0].aval) or is_nonzero(eqn.invars[1])):
            return True
        if _keeps_nonzero(eqn) and all(map(is_nonzero, eqn.invars[name == "select_n" :])):
            nonzero.add(eqn.outvars[0])
        for inner in jaxprs.inside(eqn):
            pairs = zip(inner.invars, eqn.invars, strict=True) if is_call else ()
            known = {mine for mine, given in pairs if is_nonzero(given)}
            if _divides(inner, known):
                return True
            results = zip(eqn.outvars, inner.outvars, strict=True) if is_call else ()
            nonzero.update(mine for mine, made in results if isinstance(made, jex.Var) and made in known)
    return False


def _keeps_nonzero(eqn: Any) -> bool:
    """Return whether the result has no 0 if the operands (but for the condition of a choice) have none."""
    if eqn.primitive.name == "convert_element_type":
        source, target = (var.aval.dtype for var in (eqn.invars[0], eqn.outvars[0]))
        return np.can_cast(source, target)
    return eqn.primitive.name in ("broadcast_in_dim", "copy", "reshape", "select_n")
