"""Parts of a jaxpr as jaxprs (core layer)."""

from collections.abc import Sequence
from typing import Any

import jax.extend.core
from jax.extend import core as jax_core


def cut(
    closed: jax.extend.core.ClosedJaxpr,
    *,
    inputs: Sequence[Any] | None = None,
    outputs: Sequence[Any] | None = None,
    equations: Sequence[Any] | None = None,
) -> jax.extend.core.ClosedJaxpr:
    """Return a closed jaxpr with other inputs, outputs or equations, and the same constants.

    Args:
        closed: The jaxpr.
        inputs: The variables that are its arguments; as before if None.
        outputs: The atoms that are its results; as before if None.
        equations: Its equations; as before if None.
    """
    jaxpr = closed.jaxpr
    made = _replace(
        jaxpr,
        jaxpr.constvars,
        jaxpr.invars if inputs is None else inputs,
        jaxpr.outvars if outputs is None else outputs,
        jaxpr.eqns if equations is None else equations,
    )
    return jax_core.ClosedJaxpr(made, closed.consts)


def cut_out(
    jaxpr: jax.extend.core.Jaxpr, equations: Sequence[Any], inputs: Sequence[Any], outputs: Sequence[Any]
) -> jax.extend.core.ClosedJaxpr:
    """Return some equations of a jaxpr as a closed jaxpr without constants.

    Args:
        jaxpr: The jaxpr.
        equations: The equations.
        inputs: The variables that they need from elsewhere, constants among them.
        outputs: The variables that are results.
    """
    return jax_core.ClosedJaxpr(_replace(jaxpr, (), inputs, outputs, equations), [])


def with_constants_as_inputs(closed: jax.extend.core.ClosedJaxpr) -> jax.extend.core.ClosedJaxpr:
    """Return a closed jaxpr that takes its constants behind its arguments, as those which are tracers must be."""
    jaxpr = closed.jaxpr
    return cut_out(jaxpr, jaxpr.eqns, [*jaxpr.invars, *jaxpr.constvars], jaxpr.outvars)


def _replace(
    jaxpr: Any,
    constants: Sequence[Any],
    inputs: Sequence[Any],
    outputs: Sequence[Any],
    equations: Sequence[Any],
) -> Any:
    return jaxpr.replace(
        constvars=list(constants),
        invars=list(inputs),
        outvars=list(outputs),
        eqns=list(equations),
        # The names of arguments and results would be others'; `jax_enable_checks` of JAX 0.10 compares their numbers.
        debug_info=jaxpr.debug_info._replace(arg_names=None, result_paths=None),
    )
