"""Who is told the names that tensors are given, which mean something in a `model_fn` only (ops layer)."""

from collections.abc import Callable
from typing import Any

from stratax.base.surroundings import Slot, Surroundings
from stratax.base.typing import TensorLike

NOTE: Slot[Callable[[str | None, Any], Any] | None] = Slot("listener to names", None)
_NOTE_ROWS: Slot[Callable[[Any, Any], object] | None] = Slot("listener to rows", None)


def telling(
    note: Callable[[str | None, Any], Any], note_rows: Callable[[Any, Any], object] | None = None
) -> Surroundings:
    """Call functions with what functions of `tf` compute in a block.

    Args:
        note: Called with the name, or None, and the result; returns what takes its place.
        note_rows: Called with a result and the array of whose rows it consists: see :func:`of_same_rows`.
    """
    return NOTE.holding(note) | _NOTE_ROWS.holding(note_rows)


def is_told() -> bool:
    """Return whether somebody is told of names on this thread: a `model_fn` is traced."""
    return NOTE.get() is not None


class _Graphs:
    # Gives the operation of a tensor, once there are graphs: whoever makes them says so, once.
    operation_of: Callable[[Any], Any] | None = None
    longest_of: Callable[[Any], int | None] | None = None


def find_operations_by(function: Callable[[Any], Any]) -> None:
    """Have a function give the operations of tensors; None for a tensor that belongs to no graph."""
    _Graphs.operation_of = staticmethod(function)


def operation_of(tensor: TensorLike) -> Any:
    """Return the operation that a tensor of a graph is the result of; None for others."""
    return None if _Graphs.operation_of is None else _Graphs.operation_of(tensor)


def find_longest_by(function: Callable[[Any], int | None]) -> None:
    """Have a function say how long the longest of sequences is whose lengths a program computes; None if unknown."""
    _Graphs.longest_of = staticmethod(function)


def longest_of(lengths: TensorLike) -> int | None:
    """Return how long the longest of sequences is whose lengths the program computes; None where nobody knows."""
    return None if _Graphs.longest_of is None else _Graphs.longest_of(lengths)


def of_same_rows(made: TensorLike, source: TensorLike) -> Any:
    """Return what was made of an array, having told that it is of the same rows.

    TensorFlow has gradients of some rows of a matrix (`IndexedSlices`), and functions that leave them such.

    Args:
        made: What was made, of the same shape.
        source: The array.
    """
    note_rows = _NOTE_ROWS.get()
    if note_rows is not None:
        note_rows(made, source)
    return made
