"""What many operations use, computed once, for a compiler that copies what is cheap into each of them (core layer).

XLA's CPU compiler computes a sum again in every loop that uses it, however many summands it has, and compiles it each
time: the derivative by the logits of a linear model of 39 columns, which is small, stood in 78 loops, half of all that
was compiled.
"""

import collections
import math
from typing import Any

import jax
from jax.extend import core as jax_core
from jax.interpreters import mlir

from stratax.core import jaxprs
from stratax.seams.jax import copy_equation, lower_apart, new_variable

# Larger ones take longer to write than to compute again.
MAX_HELD = 1 << 14

# How many operations have to be saved: a loop takes the time to compile of some hundred.
MIN_OPERATIONS = 256

# What XLA copies: neither what it takes for expensive, such as a logarithm, nor what is no loop, such as a product.
_COPIED = frozenset(
    (
        *("abs", "add", "add_any", "and", "broadcast_in_dim", "clamp", "convert_element_type", "copy", "eq"),
        *(
            "expand_dims",
            "ge",
            "gt",
            "integer_pow",
            "le",
            "lt",
            "max",
            "min",
            "mul",
            "ne",
            "neg",
            "not",
            "or",
        ),
        *("pad", "reshape", "select_n", "sign", "slice", "square", "squeeze", "sub", "transpose"),
    )
)


def hold_shared(closed: jax_core.ClosedJaxpr) -> jax_core.ClosedJaxpr:
    """Have small arrays computed once that follow from many others, and that many operations use.

    Args:
        closed: What was traced.

    Returns:
        The same, with further equations.
    """
    given = jaxprs.equations(closed.jaxpr)
    uses = collections.Counter(
        atom for equation in given for atom in equation.invars if isinstance(atom, jax_core.Var)
    )
    held: dict[jax_core.Var, Any] = {}
    sizes: dict[Any, int] = {}
    equations: list[Any] = []
    for equation in given:
        operands: list[Any] = equation.invars
        changed: dict[str, Any] = {"invars": [_replace(held, atom) for atom in operands]}
        if equation.primitive.name == "shard_map":
            body = hold_shared(jax_core.ClosedJaxpr(equation.params["jaxpr"], []))
            changed["params"] = {**equation.params, "jaxpr": body.jaxpr}
        equations.append(equation.replace(**changed))
        if len(equation.outvars) != 1 or not _is_copied(equation):
            continue
        result: Any = equation.outvars[0]
        known = {atom for atom in operands if isinstance(atom, jax_core.Var)}
        sizes[result] = 1 + sum(sizes.get(atom, 0) for atom in known)
        is_small = 0 < math.prod(result.aval.shape) <= MAX_HELD
        if is_small and sizes[result] * (uses[result] - 1) >= MIN_OPERATIONS:
            held[result] = new_variable(result.aval)
            equations.append(copy_equation(equation, [result], [held[result]], held_p, {}))
            sizes[result] = 0
    return jaxprs.cut(closed, equations=equations)


def _replace(held: dict[jax_core.Var, Any], atom: object) -> object:
    return held.get(atom, atom) if isinstance(atom, jax_core.Var) else atom


def _is_copied(equation: jax_core.JaxprEqn) -> bool:
    """Return whether XLA computes an operation again in each loop that uses its result."""
    if equation.primitive.name in _COPIED:
        return True
    # A function such as `jax.numpy.where`.
    if equation.primitive.name not in ("jit", "pjit"):
        return False
    return all(map(_is_copied, jaxprs.equations(equation.params["jaxpr"].jaxpr)))


held_p = jax_core.Primitive("stratax_held")


@held_p.def_abstract_eval
def _type(array: jax.core.ShapedArray) -> jax.core.ShapedArray:
    return array


def _same(array: jax.Array) -> jax.Array:
    return array


def _lower(ctx: mlir.LoweringRuleContext, array: object) -> Any:
    given: Any = ctx.avals_in[0]
    # Without the mesh axes over which it varies, as in a function of its own there are none.
    within = ctx.replace(avals_in=[jax.core.ShapedArray(given.shape, given.dtype)])
    return lower_apart(within, _same, array)


mlir.register_lowering(held_p, mlir.lower_fun(_same, multiple_results=False))
mlir.register_lowering(held_p, _lower, platform="cpu")
