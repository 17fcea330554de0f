"""A Dataset's elements as compiled functions take them: looked at first, then taken in stacks (data layer).

Nothing here is called unless a program uses JAX already.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stratax.core import regions
from stratax.data.elements import (
    Block,
    ElementRows,
    Structure,
    concatenate_blocks,
    expand,
    expand_structure,
    is_of_composites,
    leaf_names,
    parts_of,
    unflatten,
)
from stratax.data.position import Feed
from stratax.errors import OutOfRangeError

# Shape and dtype of each component.
_Kind = tuple[tuple[tuple[int, ...], Any], ...]
_TEXT_FIX = "Leave it out, or turn it into numbers, in a `map` before the iterator."
_DATASET_FIX = "Flatten windows: ds.flat_map(lambda window: window.batch(n)); or loop outside, and pass each."


def tracing_region() -> Any:
    """Return what is being traced of a compiled function on this thread, where `TRACING` says that there is one."""
    region = regions.current_region()
    return None if region is None or region.runs_in_python else region


def runs(
    feed: Feed,
    describe: Callable[[Any], Any],
    skip: int,
    count: int,
    *,
    up_to: bool,
    differ: Callable[[Block], bool] | None = None,
) -> list[tuple[Any, int]]:
    """Return what `Stream.peek_runs` gives, or with `up_to` `Stream.peek_up_to`, of the elements that come from `feed`.

    Args:
        feed: Where they come from.
        describe: Gives the structure of a block's elements: one object for blocks of one kind.
        skip: How many to pass over.
        count: How many to look at.
        up_to: Whether fewer will do.
        differ: Gives whether a block's elements may be of several kinds.
    """
    found: list[tuple[Any, int]] = []
    missing = count
    while missing:
        try:
            block, start, stop = feed.look(skip + count - missing, missing)
        except StopIteration:
            if up_to:
                return found
            raise ran_out(skip + count, skip + count - missing) from None
        except Exception as failure:
            # What comes before the failure is used first; the failure is raised when it is next.
            if up_to and found:
                return found
            # It is raised now, in front of the elements before it, and must not be raised once more.
            feed.tell(failure)
            raise
        if differ is not None and differ(block):
            stop = start + 1
            block = block.slice(start, stop)
        description = describe(block)
        # Identity, not equality: `describe_element` gives one object for each kind.
        if found and found[-1][0] is description:
            found[-1] = (description, found[-1][1] + stop - start)
        else:
            found.append((description, stop - start))
        missing -= stop - start
    return found


def ran_out(wanted: int, left: int) -> OutOfRangeError:
    """Return the error where fewer elements are left than a program takes."""
    return OutOfRangeError(
        f"The input ran out: {wanted} more elements were asked for and {left} are left. Nothing was run. Add "
        "`.repeat()` to the dataset, or take fewer steps."
    )


def stack_elements(feed: Feed, skip: int, count: int, capacity: int) -> tuple[list[np.ndarray], Block]:
    """Return the components of `count` elements of one shape behind `skip` others, stacked and padded to `capacity`.

    Returns:
        The arrays, and a block that some of the elements are in.
    """
    pieces: list[Block] = []
    missing = count
    while missing:
        block, start, stop = feed.look(skip + count - missing, missing)
        pieces.append(block if stop - start == block.count else block.slice(start, stop))
        missing -= stop - start
    block = concatenate_blocks(pieces)
    if is_of_composites(block):
        block = ElementRows([parts_of(block.row(i)) for i in range(block.count)])
    return [_pad(column, capacity) for column in block.columns()], pieces[0]


def _pad(column: np.ndarray, capacity: int) -> np.ndarray:
    if len(column) == capacity:
        return column
    # The last element again: values that any function of an element can take, unlike zeros.
    padding = np.broadcast_to(column[-1:], (capacity - len(column), *column.shape[1:]))
    return np.concatenate([column, padding])


def _kind(block: Block, structure: Structure) -> _Kind:
    row = block.row(0)
    for name, leaf in zip(leaf_names(structure), row, strict=True):
        if not isinstance(leaf, (np.ndarray, np.generic)) or leaf.dtype.kind not in "biufcV":
            is_text = isinstance(leaf, bytes) or getattr(leaf, "dtype", None) is not None
            what, fix = ("text", _TEXT_FIX) if is_text else ("a Dataset", _DATASET_FIX)
            raise regions.PythonOnlyError(
                "A compiled function takes numbers from a dataset, which devices compute with. Expected: components "
                f"of numbers or booleans. Received: {name} is {what}. {fix}"
            )
    return tuple((leaf.shape, leaf.dtype) for leaf in row)


def describe_element(block: Block, structure: Structure) -> Any:
    """Return an element of a block with `jax.ShapeDtypeStruct` leaves; the same object for blocks of one kind."""
    if is_of_composites(block):
        structure = expand_structure(structure, block.row(0))
        block = expand(block)
    return _describe(structure, _kind(block, structure))


@functools.lru_cache(maxsize=256)
def _describe(structure: Structure, kind: _Kind) -> Any:
    import jax

    leaves: Sequence[Any] = [
        jax.ShapeDtypeStruct(shape, jax.dtypes.canonicalize_dtype(dtype)) for shape, dtype in kind
    ]
    return unflatten(structure, leaves)
