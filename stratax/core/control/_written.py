"""Arrays that grow where branches meet: all their elements in one array, of one size (core layer)."""

from collections.abc import Mapping, Sequence
from typing import Any

import jax

from stratax import errors
from stratax.core.control._growing import Growing, Unallocated


def put_together(values: Sequence[Any], before: Sequence[Any]) -> list[Any]:
    """Return locals in which each growing array has one array of all its elements: the same whenever it is packed.

    Args:
        values: The locals.
        before: Those that they were before, which stay as they are.
    """
    kept = set(map(id, before))
    return [value if id(value) in kept else _put_together(value) for value in values]


def _put_together(value: Any) -> Any:
    if not any(map(_is_growing, jax.tree.leaves(value, is_leaf=_is_growing))):
        return value
    return jax.tree.map(
        lambda part: jax.tree.map(lambda leaf: leaf, part) if _is_growing(part) else part,
        value,
        is_leaf=_is_growing,
    )


def _is_growing(value: object) -> bool:
    return isinstance(value, Growing)


def join(
    path: str, one: Any, other: Any, if_true: Mapping[int, int], if_false: Mapping[int, int]
) -> tuple[tuple[int | None, int | None], Any]:
    """Return where an array is that one branch wrote to first, and the array; the other branch gives zeros.

    Args:
        path: The local, for the message.
        one: What the first branch leaves: the array, or an `Unallocated`.
        other: What the second one leaves.
        if_true: The positions of the first branch's arrays among its results, by their ids.
        if_false: Those of the second one's.

    Raises:
        TracingError: The array has another size in the other branch.
    """
    unwritten, array = (one, other) if isinstance(one, Unallocated) else (other, one)
    if unwritten.size != array.shape[0]:
        raise errors.TracingError(
            f"{path[0].upper()}{path[1:]} grows in one branch only of an `if` whose condition is an array. Expected: "
            f"{unwritten.size} elements, as in the other branch. Received: {array.shape[0]}. Make the array with "
            "size=<the largest that it can get>, and count what is used in a local."
        )
    return ((None, if_false[id(array)]) if array is other else (if_true[id(array)], None)), array
