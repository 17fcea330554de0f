"""Going through the equations of a jaxpr and of the jaxprs inside it (core layer)."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import jax.extend.core
from jax.extend import core as jax_core

# Gives the jaxprs inside an equation.
Inside = Callable[[Any], Iterable[Any]]


def equations(jaxpr: jax.extend.core.Jaxpr) -> Sequence[jax.extend.core.JaxprEqn]:
    """Return the equations of a jaxpr, in order, without those of the jaxprs inside it."""
    return jaxpr.eqns


def inside(equation: Any) -> Iterator[Any]:
    """Give the jaxprs among an equation's parameters: bodies of loops, branches, functions that it calls."""
    return jax_core.jaxprs_in_params(equation.params)


def chains(
    jaxpr: jax.extend.core.Jaxpr, parts_of: Inside = inside, around: tuple[Any, ...] = ()
) -> Iterator[tuple[Any, ...]]:
    """Give each equation of a jaxpr and of those inside it, in order, behind the equations that it is inside of.

    Args:
        jaxpr: The jaxpr.
        parts_of: Gives the jaxprs inside an equation.
        around: The equations that the jaxpr itself is inside of.
    """
    for equation in jaxpr.eqns:
        chain = (*around, equation)
        yield chain
        for part in parts_of(equation):
            yield from chains(part, parts_of, chain)


def walk_nested(jaxpr: jax.extend.core.Jaxpr, parts_of: Inside = inside) -> Iterator[Any]:
    """Give each equation of a jaxpr and, behind it, those of the jaxprs inside it; see :func:`chains`."""
    return (chain[-1] for chain in chains(jaxpr, parts_of))


def contains(
    jaxpr: jax.extend.core.Jaxpr, predicate: Callable[[Any], bool], parts_of: Inside = inside
) -> bool:
    """Return whether something holds of an equation of a jaxpr, or of one inside it; see :func:`chains`."""
    return any(map(predicate, walk_nested(jaxpr, parts_of)))


def holds_within(equation: object, predicate: Callable[[Any], bool]) -> bool:
    """Return whether something holds of an equation, or of one inside it."""
    return predicate(equation) or any(contains(part, predicate) for part in inside(equation))


def levels(jaxpr: jax.extend.core.Jaxpr, parts_of: Inside = inside) -> Iterator[Any]:
    """Give a jaxpr and the jaxprs inside it; see :func:`chains`."""
    yield jaxpr
    for equation in jaxpr.eqns:
        for part in parts_of(equation):
            yield from levels(part, parts_of)
