"""Parts of one array cut out by as few loops as they have sizes (core layer).

XLA's CPU compiler compiles a loop for each place that a part begins at, in 15 to 20 milliseconds: the moving statistics
of a network's batch normalizations, which replicas average in one buffer, are a hundred parts of six sizes. Where the
place is not known to it, the loop of one size is the same for all of them.
"""

import math
from collections.abc import Sequence, Set
from typing import Any

import jax
import numpy as np
from jax import lax
from jax.extend import core as jax_core
from jax.interpreters import mlir

from stratax.seams.jax import copy_equation, hide_numbers, lower_apart, new_variable, reshape

# With fewer places for each size, there is nothing to be saved.
_MIN_SHARED = 4

Shape = tuple[int, ...]


def cut_results(
    equations: Sequence[Any], outvars: Sequence[Any], places: Set[int]
) -> tuple[list[Any], list[Any]]:
    """Have results that are parts of one long array cut out of it together.

    Args:
        equations: The operations of a program.
        outvars: Its results.
        places: Which of them may be cut out so, by position.

    Returns:
        Its operations and results, with others for those.
    """
    makers = {equation.outvars[0]: equation for equation in equations if len(equation.outvars) == 1}
    found: dict[Any, dict[Any, int]] = {}
    for place in sorted(places):
        part = _find_part(outvars[place], makers)
        if part is not None:
            found.setdefault(part[0], {})[outvars[place]] = part[1]
    new: dict[Any, Any] = {}
    added = []
    for whole, parts in found.items():
        if len(set(parts.values())) - len({part.aval.size for part in parts}) < _MIN_SHARED:
            continue
        made = {part: new_variable(part.aval) for part in parts}
        new |= made
        params = {
            "starts": tuple(parts.values()),
            "shapes": tuple(part.aval.shape for part in parts),
        }
        added.append(copy_equation(equations[-1], [whole], [*made.values()], cut_p, params))
    results = [new.get(each, each) if isinstance(each, jax_core.Var) else each for each in outvars]
    return [*equations, *added], results


def _find_part(result: object, makers: dict[Any, Any]) -> tuple[Any, int] | None:
    """Return the array of one dimension that a result is a part of, and where it begins; None of all others."""
    equation = makers.get(result) if isinstance(result, jax_core.Var) else None
    if equation is not None and equation.primitive.name == "reshape":
        equation = makers.get(equation.invars[0])
    if equation is None or equation.primitive.name != "slice":
        return None
    whole, part = equation.invars[0], equation.outvars[0].aval
    is_flat = isinstance(whole, jax_core.Var) and len(part.shape) == 1 and part.size > 0
    return (whole, equation.params["start_indices"][0]) if is_flat and _is_dense(equation) else None


def _is_dense(equation: Any) -> bool:
    """Return whether a part has all numbers from its first one to its last."""
    return equation.params["strides"] in (None, (1,))


cut_p = jax_core.Primitive("stratax_cut")
cut_p.multiple_results = True


@cut_p.def_abstract_eval
def _types(whole: Any, *, starts: tuple[int, ...], shapes: tuple[Shape, ...]) -> list[Any]:
    return [jax.core.ShapedArray(shape, whole.dtype) for shape in shapes]


def _each(whole: Any, *, starts: tuple[int, ...], shapes: tuple[Shape, ...]) -> list[Any]:
    pairs = zip(starts, shapes, strict=True)
    return [lax.slice(whole, (at,), (at + math.prod(shape),)).reshape(shape) for at, shape in pairs]


def lower_parts(
    ctx: mlir.LoweringRuleContext, whole: object, starts: Sequence[int], shapes: Sequence[Shape]
) -> list[Any]:
    """Lower parts of an array of one dimension, with one loop for all of a size.

    Args:
        ctx: The context of the lowering, with the type of the array.
        whole: The array.
        starts: Where each begins.
        shapes: Their shapes.
    """
    sizes = [math.prod(shape) for shape in shapes]

    def cut(whole: Any, *places: Any) -> list[Any]:
        return [
            lax.dynamic_slice_p.bind(whole, at, slice_sizes=(size,))
            for at, size in zip(places, sizes, strict=True)
        ]

    offset = jax.core.ShapedArray((), np.dtype(np.uint32))
    within = ctx.replace(avals_in=[*ctx.avals_in, *[offset] * len(sizes)])
    # Behind a barrier, or XLA would put each number into its loop. One function for all: each call is a function of its
    # own where there are several devices, and takes the compiler longer than what is in it.
    parts = lower_apart(within, cut, whole, *hide_numbers(starts))
    return [
        part if len(shape) == 1 else reshape(part, shape) for part, shape in zip(parts, shapes, strict=True)
    ]


def _lower(
    ctx: mlir.LoweringRuleContext, whole: object, *, starts: tuple[int, ...], shapes: tuple[Shape, ...]
) -> Any:
    given: Any = ctx.avals_in[0]
    # Without the mesh axes over which it varies: the constants beside it would have to match.
    within = ctx.replace(avals_in=[jax.core.ShapedArray(given.shape, given.dtype)])
    return lower_parts(within, whole, starts, shapes)


mlir.register_lowering(cut_p, mlir.lower_fun(_each, multiple_results=True))
mlir.register_lowering(cut_p, _lower, platform="cpu")
