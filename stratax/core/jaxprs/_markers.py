"""Markers: equations that stand for values which are fed in when a program runs (core layer)."""

from collections.abc import Callable
from typing import Any

import jax.extend.core
from jax.extend import core as jax_core

from stratax.core.jaxprs._cut import cut
from stratax.core.jaxprs._evaluate import inline

# `input_p.bind(index=..., aval=...)` in a region's own trace.
input_p = jax_core.Primitive("stratax_input")
input_p.def_abstract_eval(lambda *, index, aval: aval)


def markers_of(jaxpr: jax.extend.core.Jaxpr) -> dict[int, Any]:
    """Return the variables of a jaxpr that stand for what is fed in, by its number."""
    return {each.params["index"]: each.outvars[0] for each in jaxpr.eqns if each.primitive is input_p}


def without_markers(jaxpr: jax.extend.core.Jaxpr) -> jax.extend.core.Jaxpr:
    """Return a jaxpr without its markers, in which nothing makes what they stand for."""
    return jaxpr.replace(eqns=[each for each in jaxpr.eqns if each.primitive is not input_p])


def lift_inputs(closed: jax.extend.core.ClosedJaxpr, count: int) -> Callable[..., list[Any]]:
    """Turn the markers of a traced program into its first `count` arguments.

    Args:
        closed: The jaxpr of a region's body.
        count: How many values were handed out for it.

    Returns:
        A function `(*inputs, *arguments) -> outputs` on flat lists.
    """
    jaxpr = closed.jaxpr
    # Variables are lifted when they are first read, so markers stand anywhere among the equations.
    fed = markers_of(jaxpr)
    inputs = [*(fed[index] for index in range(count)), *jaxpr.invars]
    lifted = cut(closed, inputs=inputs, equations=without_markers(jaxpr).eqns)
    return lambda *values: inline(lifted, values)
