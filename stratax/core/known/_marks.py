"""Marks of values in a traced function, by which one learns whether it computes with them (core layer)."""

from collections.abc import Iterator
from typing import Any

import jax.extend.core
from jax.ad_checkpoint import checkpoint_name

from stratax.core import jaxprs

_PREFIX = "stratax: "
# The primitive of `checkpoint_name`, which does nothing else than to have a name.
_PRIMITIVE = "name"


def mark(value: object, name: str) -> Any:
    """Return a value of a trace with a mark, which :func:`find_used_marks` finds.

    Args:
        value: The value.
        name: The mark.
    """
    return checkpoint_name(value, _PREFIX + name)


def find_used_marks(closed: jax.extend.core.ClosedJaxpr) -> set[str]:
    """Return the marks of values that a result or an effect depends on.

    Args:
        closed: What was traced.
    """
    return set(_marks(closed.jaxpr))


def _marks(jaxpr: jax.extend.core.Jaxpr) -> Iterator[str]:
    for equation in jaxprs.find_needed(jaxpr, jaxpr.outvars, _has_effects).equations:
        name = str(equation.params.get("name", ""))
        if equation.primitive.name == _PRIMITIVE and name.startswith(_PREFIX):
            yield name.removeprefix(_PREFIX)
        # Of what is inside a loop or a branch all results count as wanted.
        for part in jaxprs.inside(equation):
            yield from _marks(part)


def _has_effects(equation: jax.extend.core.JaxprEqn) -> bool:
    return bool(equation.effects)
