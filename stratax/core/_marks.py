"""Marks of values in a traced function, by which one learns whether it computes with them (core layer)."""

from typing import Any

import jax.extend.core
from jax.ad_checkpoint import checkpoint_name
from jax.extend import core as jax_core

_PREFIX = "stratax: "
# The primitive of `checkpoint_name`, which does nothing else than to have a name.
_PRIMITIVE = "name"


def marked(value: Any, name: str) -> Any:
    """Return a value of a trace with a mark, which :func:`used_marks` finds.

    Args:
        value: The value.
        name: The mark.
    """
    return checkpoint_name(value, _PREFIX + name)


def used_marks(closed: jax.extend.core.ClosedJaxpr) -> set[str]:
    """Return the marks of values that a result or an effect depends on.

    Args:
        closed: What was traced.
    """
    found: set[str] = set()
    _collect(closed.jaxpr, found)
    return found


def _collect(jaxpr: jax.extend.core.Jaxpr, found: set[str]) -> None:
    wanted = _variables(jaxpr.outvars)
    for equation in reversed(jaxpr.eqns):
        if not (equation.effects or wanted.intersection(equation.outvars)):
            continue
        wanted |= _variables(equation.invars)
        name = str(equation.params.get("name", ""))
        if equation.primitive.name == _PRIMITIVE and name.startswith(_PREFIX):
            found.add(name.removeprefix(_PREFIX))
        # Of what is inside a loop or a branch all results count as wanted.
        for inner in jax_core.jaxprs_in_params(equation.params):
            _collect(inner, found)


def _variables(atoms: Any) -> set[Any]:
    return {atom for atom in atoms if isinstance(atom, jax_core.Var)}
