"""Computing what a jaxpr says, or something else in its place (core layer)."""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.extend.core
from jax.extend import core as jax_core

# JAX 0.11 knows several ways to put a function where it is called, JAX 0.10 this one.
_AT_ONCE = jax.Inline.JAX_EARLY if hasattr(jax, "Inline") else True

# Gives the results of an equation, of the equation and its operands; None for those that it has.
Rule = Callable[[Any, list[Any]], Sequence[Any] | None]


def evaluate(
    closed: jax.extend.core.ClosedJaxpr, arguments: Sequence[Any], rule: Rule | None = None
) -> list[Any]:
    """Compute the results of a closed jaxpr.

    Args:
        closed: The jaxpr.
        arguments: Its arguments.
        rule: What its equations become; see :data:`Rule`. A jaxpr inside of one is evaluated by the rule, or not at
            all.
    """
    jaxpr = closed.jaxpr
    known: dict[Any, Any] = dict(zip(jaxpr.constvars, closed.consts, strict=True))
    known |= dict(zip(jaxpr.invars, arguments, strict=True))
    for equation in jaxpr.eqns:
        operands = [value_of(known, atom) for atom in equation.invars]
        results = None if rule is None else rule(equation, operands)
        if results is None:
            results = bind(equation, operands)
        known |= zip(equation.outvars, results, strict=True)
    return [value_of(known, atom) for atom in jaxpr.outvars]


def trace_again(closed: jax.extend.core.ClosedJaxpr, rule: Rule) -> jax.extend.core.ClosedJaxpr:
    """Return the closed jaxpr of what :func:`evaluate` computes with a rule."""
    return jax.make_jaxpr(lambda *arguments: evaluate(closed, arguments, rule))(*closed.in_avals)


def inline(closed: jax.extend.core.ClosedJaxpr, arguments: Sequence[Any]) -> list[Any]:
    """Put the equations of a closed jaxpr into what is being traced, as they are.

    It gives what :func:`evaluate` gives, which would trace each of them once more: a tenth of what a model's first step
    takes until it is compiled.
    """
    if not any(isinstance(argument, jax.core.Tracer) for argument in arguments):
        return evaluate(closed, arguments)
    equation = _jit_equation()
    sizes = {"in": len(arguments), "out": len(closed.out_avals), "donated": len(arguments)}
    changed = {
        name: value * sizes[name.partition("_")[0]]
        for name, value in equation.params.items()
        if isinstance(value, tuple) and name.partition("_")[0] in sizes
    }
    return bind(equation, arguments, **changed, jaxpr=closed, inline=_AT_ONCE)


@functools.cache
def _jit_equation() -> Any:
    """Return the equation of a function of one argument that `jax.jit` made."""
    (equation,) = jax.make_jaxpr(jax.jit(lambda value: value))(0).eqns
    return equation


def value_of(known: Mapping[Any, Any], atom: object) -> Any:
    """Return the value of a jaxpr's atom, of the values of its variables."""
    return atom.val if isinstance(atom, jax_core.Literal) else known[atom]


def bind(equation: Any, operands: Sequence[Any], **changed: Any) -> list[Any]:
    """Do an operation of a jaxpr.

    Args:
        equation: The operation.
        operands: Its operands.
        **changed: Parameters that are others.
    """
    primitive = equation.primitive
    results = primitive.bind(*operands, **primitive.get_bind_params({**equation.params, **changed}))
    return list(results) if primitive.multiple_results else [results]
