"""Which equations and variables of a jaxpr depend on which (core layer)."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import jax.extend.core
from jax.extend import core as jax_core


class Needed(NamedTuple):
    """What of a jaxpr something is computed of.

    Attributes:
        equations: The equations, in order.
        variables: The variables, with those that it is itself.
    """

    equations: list[Any]
    variables: set[Any]


def variables_of(atoms: Iterable[Any]) -> list[Any]:
    """Return those of a jaxpr's atoms that are no literals."""
    return [atom for atom in atoms if not isinstance(atom, jax_core.Literal)]


def find_needed(
    jaxpr: jax.extend.core.Jaxpr, atoms: Iterable[Any] = (), also: Callable[[Any], bool] | None = None
) -> Needed:
    """Return what of a jaxpr some atoms are computed of.

    Args:
        jaxpr: The jaxpr.
        atoms: The atoms.
        also: Says of an equation whether it is needed anyhow, for its effects for instance.
    """
    needed = set(variables_of(atoms))
    found: list[Any] = []
    # Backwards, so that what an equation needs is known before its makers are met.
    for equation in reversed(jaxpr.eqns):
        if not needed.isdisjoint(equation.outvars) or (also is not None and also(equation)):
            needed.update(variables_of(equation.invars))
            found.append(equation)
    return Needed(found[::-1], needed)


def dependents_of(jaxpr: jax.extend.core.Jaxpr, variables: Iterable[Any]) -> set[Any]:
    """Return some variables of a jaxpr, and those that are computed of them."""
    found = set(variables)
    for equation in jaxpr.eqns:
        if not found.isdisjoint(variables_of(equation.invars)):
            found.update(equation.outvars)
    return found


def others(jaxpr: jax.extend.core.Jaxpr, equations: Iterable[Any]) -> list[Any]:
    """Return the equations of a jaxpr that are none of some, in order."""
    chosen = set(map(id, equations))
    return [equation for equation in jaxpr.eqns if id(equation) not in chosen]


def makers(jaxpr: jax.extend.core.Jaxpr) -> dict[Any, Any]:
    """Return the variables that a jaxpr's equations make, in order, with the equations."""
    return {variable: equation for equation in jaxpr.eqns for variable in equation.outvars}


def last_uses(jaxpr: jax.extend.core.Jaxpr) -> list[list[Any]]:
    """Return for each equation the variables that are made in the jaxpr and that nobody needs behind it."""
    needed = {*variables_of(jaxpr.outvars), *jaxpr.invars}
    spent: list[list[Any]] = []
    for equation in reversed(jaxpr.eqns):
        own = set(variables_of((*equation.invars, *equation.outvars))) - needed
        needed |= own
        spent.append(list(own))
    return spent[::-1]
