"""Convolutions in compiled loops and conditions, written so that XLA computes them fast on CPUs too (core layer).

XLA's CPU compiler brings convolutions into the one form that its fast routine takes, batch and features outermost and
innermost, but only where they stand in the program itself, not in the body of a loop or the branch of a condition. A
convolution's gradients are never in that form: a small network's training step took 5 ms by itself and 50 ms in a loop.
So the form is made here, by transposing the operands and the result.
"""

from collections.abc import Sequence
from typing import Any

import jax
from jax.extend import core as jax_core

_FORM = jax.lax.ConvDimensionNumbers


def prepare(closed: jax_core.ClosedJaxpr) -> jax_core.ClosedJaxpr:
    """Brings the convolutions of a loop's body or a branch into the form that is fast there.

    Args:
        closed: What was traced.

    Returns:
        The same computation. On other devices than CPUs, and where there is nothing to do, `closed` itself.
    """
    if jax.default_backend() != "cpu":
        return closed
    jaxpr = _prepared(closed.jaxpr)
    return closed if jaxpr is closed.jaxpr else jax_core.ClosedJaxpr(jaxpr, closed.consts)


def _prepared(jaxpr: jax_core.Jaxpr) -> jax_core.Jaxpr:
    equations: list[jax_core.JaxprEqn] = []
    for equation in jaxpr.eqns:
        equations += _transposed(equation) if _is_slow(equation) else [_with_prepared_parts(equation)]
    same = len(equations) == len(jaxpr.eqns) and all(
        new is old for new, old in zip(equations, jaxpr.eqns, strict=True)
    )
    return jaxpr if same else jaxpr.replace(eqns=equations)


def _with_prepared_parts(equation: jax_core.JaxprEqn) -> jax_core.JaxprEqn:
    """The equation with what it calls (a loop, a function of replicas) prepared."""
    changed = {}
    for name, value in equation.params.items():
        prepared = _part(value)
        if prepared is not value:
            changed[name] = prepared
    return equation.replace(params={**equation.params, **changed}) if changed else equation


def _part(value: Any) -> Any:
    if isinstance(value, jax_core.Jaxpr):
        return _prepared(value)
    if isinstance(value, jax_core.ClosedJaxpr):
        jaxpr = _prepared(value.jaxpr)
        return value if jaxpr is value.jaxpr else jax_core.ClosedJaxpr(jaxpr, value.consts)
    if isinstance(value, tuple):
        parts = [_part(part) for part in value]
        same = all(new is old for new, old in zip(parts, value, strict=True))
        return value if same else tuple(parts)
    return value


def _is_sharded(convolution: jax_core.JaxprEqn) -> bool:
    """Whether the result was asked for in parts; one replica's results have a sharding that divides nothing."""
    sharding = convolution.params.get("out_sharding")
    return sharding is not None and any(part is not None for part in sharding.spec)


def _form_of(convolution: jax_core.JaxprEqn) -> _FORM:
    left: Any = convolution.invars[0].aval
    return _form(left.ndim)


def _form(dimensions: int) -> _FORM:
    """Batch, space, features; kernels: space, features in, features out."""
    last = dimensions - 1
    outer = (0, last, *range(1, last))
    return _FORM(outer, (last, last - 1, *range(last - 1)), outer)


def _is_slow(equation: jax_core.JaxprEqn) -> bool:
    if equation.primitive is not jax.lax.conv_general_dilated_p or _is_sharded(equation):
        return False
    return equation.params["dimension_numbers"] != _form_of(equation)


def _transposed(equation: jax_core.JaxprEqn) -> list[jax_core.JaxprEqn]:
    """The equations that take the place of a convolution."""
    given = equation.params["dimension_numbers"]
    form = _form_of(equation)
    params = {**equation.params, "dimension_numbers": form, "out_sharding": None}

    def convolve(left: Any, right: Any) -> Any:
        left = jax.lax.transpose(left, _permutation(given.lhs_spec, form.lhs_spec))
        right = jax.lax.transpose(right, _permutation(given.rhs_spec, form.rhs_spec))
        result = jax.lax.conv_general_dilated_p.bind(left, right, **params)
        return jax.lax.transpose(result, _permutation(form.out_spec, given.out_spec))

    avals: list[Any] = [atom.aval for atom in equation.invars]
    types = [jax.ShapeDtypeStruct(aval.shape, aval.dtype) for aval in avals]
    inner = jax.make_jaxpr(convolve)(*types).jaxpr
    names: dict[Any, Any] = dict(zip(inner.invars, equation.invars, strict=True))
    names[inner.outvars[0]] = equation.outvars[0]
    return [
        one.replace(
            invars=[
                atom if isinstance(atom, jax_core.Literal) else names.get(atom, atom) for atom in one.invars
            ],
            outvars=[names.get(variable, variable) for variable in one.outvars],
            source_info=equation.source_info,
            ctx=equation.ctx,
        )
        for one in inner.eqns
    ]


def _permutation(given: Sequence[int], wanted: Sequence[int]) -> tuple[int, ...]:
    """How to transpose an array whose dimensions mean `given` into one whose dimensions mean `wanted`."""
    permutation = [0] * len(given)
    for source, target in zip(given, wanted, strict=True):
        permutation[target] = source
    return tuple(permutation)
