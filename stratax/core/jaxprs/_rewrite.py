"""Jaxprs with other equations in them, however deep (core layer)."""

from collections.abc import Callable
from typing import Any

import jax.extend.core
from jax.extend import core as jax_core


def rewrite(
    closed: jax.extend.core.ClosedJaxpr,
    change: Callable[[Any], Any],
    effects_of: Callable[[Any, bool], Any],
) -> jax.extend.core.ClosedJaxpr:
    """Return a closed jaxpr in which equations, and those of the jaxprs inside it, are others; itself if none is.

    Args:
        closed: The jaxpr.
        change: Gives the equation that takes the place of one; None where it stays. It is asked once for each.
        effects_of: Gives the effects of what had some and has been changed, or has not; the same object where they
            stay.
    """
    made = _Rewriter(change, effects_of).jaxpr(closed.jaxpr)
    return closed if made is closed.jaxpr else jax_core.ClosedJaxpr(made, closed.consts)


class _Rewriter:
    """Goes through jaxprs, each once."""

    def __init__(self, change: Callable[[Any], Any], effects_of: Callable[[Any, bool], Any]) -> None:
        self._change = change
        self._effects_of = effects_of
        self._made: dict[int, tuple[Any, Any]] = {}

    def jaxpr(self, jaxpr: Any) -> Any:
        if id(jaxpr) not in self._made:
            equations = [self._equation(equation) for equation in jaxpr.eqns]
            is_changed = any(made is not before for made, before in zip(equations, jaxpr.eqns, strict=True))
            effects = self._effects_of(jaxpr.effects, is_changed)
            # With the jaxpr itself, so that no other one gets its id.
            self._made[id(jaxpr)] = (
                jaxpr,
                (
                    jaxpr.replace(eqns=equations, effects=effects)
                    if is_changed or effects is not jaxpr.effects
                    else jaxpr
                ),
            )
        return self._made[id(jaxpr)][1]

    def _equation(self, equation: Any) -> Any:
        changed = self._change(equation)
        if changed is not None:
            return changed
        params = {name: self._param(value) for name, value in equation.params.items()}
        if all(params[name] is value for name, value in equation.params.items()):
            return equation
        return equation.replace(params=params, effects=self._effects_of(equation.effects, True))

    def _param(self, value: object) -> Any:
        if isinstance(value, jax_core.ClosedJaxpr):
            made = self.jaxpr(value.jaxpr)
            return value if made is value.jaxpr else jax_core.ClosedJaxpr(made, value.consts)
        if isinstance(value, jax_core.Jaxpr):
            return self.jaxpr(value)
        if type(value) is tuple:
            parts = tuple(map(self._param, value))
            return value if all(part is each for part, each in zip(parts, value, strict=True)) else parts
        return value
