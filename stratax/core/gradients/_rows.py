"""Operations that look up rows of an array, and which rows they touch (core layer).

TensorFlow's gradient of a matrix whose rows are looked up consists of those rows alone, and some of its optimizers
leave the others as they are. Which rows these are follows from the indices of the operation, and not from the gradient,
which may be zero where a row was looked up.
"""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from stratax.core import jaxprs

_JIT_PRIMITIVES = ("jit", "pjit")
# The same rows, in another form.
_CONVERSIONS = ("convert_element_type", "copy", "copy_p")


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class RowUse:
    """How an operation uses an array by its rows.

    Attributes:
        mask: Gives the rows that are looked up, as booleans; None where the result is the array in another form.
    """

    mask: Callable[[], Any] | None


def use_of(primitive: Any, params: dict[str, Any], args: Sequence[Any], at: int) -> RowUse | None:
    """Return how an operation uses the rows of an operand; None if in another way.

    Args:
        primitive: The operation.
        params: Its parameters.
        args: Its operands.
        at: Which one of them.
    """
    if primitive.name in _CONVERSIONS:
        return RowUse(None)
    if primitive.name == "gather":
        if at != 0 or not _is_by_row(params, args[0].shape):
            return None
        starts, mode = args[1], params["mode"]
        count = args[0].shape[0]
        return RowUse(lambda: _mask(starts, count, mode))
    if primitive.name in _JIT_PRIMITIVES:
        return _find_use_of_jitted(params["jaxpr"], args, at)
    return None


def _find_use_of_jitted(closed: Any, args: Sequence[Any], at: int) -> RowUse | None:
    """Return the use in a jitted function whose last operation looks up rows, as `jnp.take`."""
    jaxpr, equations = closed.jaxpr, jaxprs.equations(closed.jaxpr)
    if not equations or len(jaxpr.outvars) != 1:
        return None
    last, operand = equations[-1], jaxpr.invars[at]
    is_lookup = last.primitive.name == "gather" and last.invars[0] is operand
    if not is_lookup or jaxpr.outvars[0] is not last.outvars[0]:
        return None
    used = [variable for equation in equations for variable in equation.invars if variable is operand]
    if len(used) != 1 or not _is_by_row(last.params, operand.aval.shape):
        return None
    starts, mode, count = last.invars[1], last.params["mode"], operand.aval.shape[0]
    computing = jaxprs.cut(closed, outputs=[starts], equations=equations[:-1])
    # Without the array itself, which nobody else may need any more.
    others = [None if index == at else arg for index, arg in enumerate(args)]

    def mask() -> Any:
        (found,) = jaxprs.evaluate(computing, others)
        return _mask(found, count, mode)

    return RowUse(mask)


def _is_by_row(params: dict[str, Any], shape: Sequence[int]) -> bool:
    """Return whether a `gather` takes whole slices of the first dimension."""
    numbers = params["dimension_numbers"]
    return (
        tuple(numbers.collapsed_slice_dims) == (0,)
        and tuple(numbers.start_index_map) == (0,)
        and not numbers.operand_batching_dims
        and tuple(params["slice_sizes"]) == (1, *shape[1:])
    )


def _mask(starts: Any, count: int, mode: Any) -> Any:
    indices = jnp.ravel(starts)
    if mode == jax.lax.GatherScatterMode.CLIP:
        indices = jnp.clip(indices, 0, count - 1)
    # One more for those out of range, which touch no row.
    inside = jnp.where((indices >= 0) & (indices < count), indices, count)
    return jnp.zeros(count + 1, bool).at[inside].set(True)[:count]
