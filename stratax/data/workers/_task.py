"""What a worker process of `map` does: a user's function for some elements at a time (data layer).

A worker imports this module and what the function needs; neither JAX nor Keras unless the function uses them.
"""

import os
import pickle
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import cloudpickle
import numpy as np

from stratax.base.shown import shown
from stratax.base.tensors import tell_tensors
from stratax.data.elements import (
    Block,
    Columns,
    Composite,
    ElementRows,
    Row,
    Structure,
    element_scope,
    flatten,
    shapes_of,
    spec_of_row,
    stack_rows,
    unflatten,
)
from stratax.data.vectorise import chain_operations, on_host, result_of
from stratax.data.workers._memory import Location, Writer
from stratax.errors import DataError, WorkerError

_NOT_LOADED = (
    "A function given to map can't be made again in a worker process. Put what it uses into modules that a new Python "
    "process can import, or have them sent too: cloudpickle.register_pickle_by_value(module)."
)


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkerTask:
    """Elements that one worker makes one after another.

    Attributes:
        block: The elements that the function gets.
        positions: Their positions in the pipeline, for messages.
        names: What names each of them to a random function.
        location: Where large results may be stored.
    """

    block: Block
    positions: Sequence[int]
    names: Sequence[tuple[int, ...]]
    location: Location | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskPart:
    """Results of one structure and one shape, or an element that failed.

    Attributes:
        block: The results, the large ones as :class:`Stored`; of the one that failed, nothing but its failure.
        template: Their structure, as a value of it.
    """

    block: Block
    template: Any


@dataclass(frozen=True, kw_only=True, slots=True)
class Result:
    """What became of a task.

    Attributes:
        parts: The results, in order.
        seconds: How long all of them took.
    """

    parts: Sequence[TaskPart]
    seconds: float


class _Worker:
    """What this process was set up for."""

    payload: bytes = b""
    function: Callable[..., Any] | None = None
    structure: Structure = None
    name: str = ""
    is_joined: bool = False

    def load(self) -> Callable[..., Any]:
        """Load the user's function when the first elements come, so that they tell what is wrong with it."""
        if self.function is None:
            # Cloudpickle's pickles are read by the standard pickle.
            self.function, template, self.name, gets_tensors = pickle.loads(self.payload)
            # The program's own process imports `stratax.tf`, which the function need not.
            if gets_tensors:
                tell_tensors()
            self.structure = flatten(template)[1]
        return self.function

    def join(self) -> None:
        """Join operations of the function that follow one another, once it has given a result."""
        if not self.is_joined and self.function is not None:
            self.function, self.is_joined = chain_operations(self.function), True


_worker = _Worker()


def set_up(payload: bytes) -> None:
    """Prepare this process.

    Args:
        payload: The pickled function, a value of its elements' structure, how messages call the function, and whether
            it gets tensors.
    """
    _worker.payload = payload


def is_ready() -> int:
    """Tell that the process has started: its id."""
    return os.getpid()


def make(task: WorkerTask) -> Result:
    """Call the function for every element of a task."""
    start = time.perf_counter()
    try:
        function = _worker.load()
    except Exception as e:
        failure = _transportable(e, _NOT_LOADED)
        # Every element of the task fails in the same way, each at its turn.
        return Result(
            parts=[TaskPart(block=ElementRows([], failure), template=None)] * task.block.count, seconds=0.0
        )
    made = [_one(function, task, i) for i in range(task.block.count)]
    seconds = time.perf_counter() - start
    return Result(parts=_group(made, Writer(task.location)), seconds=seconds)


_Made = tuple[Row, Structure] | Exception


def _one(function: Callable[..., Any], task: WorkerTask, index: int) -> _Made:
    row, position = task.block.row(index), task.positions[index]
    try:
        with on_host(), element_scope(lambda: task.names[index]):
            result = result_of(function, _worker.structure, row)
        _check_sendable(result[0])
    except Exception as e:
        spec = spec_of_row(row, _worker.structure)
        return _transportable(e, f"{_worker.name} failed on element {position} of its input, {shown(spec)}.")
    _worker.join()
    return result


def _check_sendable(row: Row) -> None:
    for leaf in row:
        if not isinstance(leaf, np.ndarray | np.generic | bytes | str | Composite):
            raise DataError(
                "A function that runs in worker processes gives arrays, numbers and strings. Received: a component of "
                f"type {type(leaf).__name__}. Leave num_processes out where a function makes Datasets."
            )


def _transportable(error: Exception, note: str) -> Exception:
    """Return the error as another process can have it: with its traceback as text."""
    where = "".join(traceback.format_exception(error)).rstrip()
    note = f"{note}\nIn worker process {os.getpid()}:\n{where}"
    # Frames cannot be pickled; what they say is in the note.
    error.__traceback__ = error.__cause__ = error.__context__ = None
    try:
        copy = pickle.loads(cloudpickle.dumps(error))
        # Tried here: an error with an `__init__` of its own may be pickled and fail to be unpickled by the
        # parent.
        is_whole = type(copy) is type(error) and str(copy) == str(error)
    except Exception:
        is_whole = False
    if not is_whole:
        error = WorkerError(
            f"{type(error).__name__}: {error} (an error that can't be sent to another process)"
        )
    error.add_note(note)
    return error


def _group(made: Sequence[_Made], writer: Writer) -> list[TaskPart]:
    parts: list[TaskPart] = []
    rows: list[Row] = []
    structure: Structure = None
    for item in made:
        if isinstance(item, Exception):
            parts += _part(rows, structure, writer)
            rows = []
            parts.append(TaskPart(block=ElementRows([], item), template=None))
            continue
        # A part holds results that can be stacked; another structure, shape or dtype begins a new one.
        if rows and (structure != item[1] or _kinds(rows[0]) != _kinds(item[0])):
            parts += _part(rows, structure, writer)
            rows = []
        rows.append(item[0])
        structure = item[1]
    return parts + _part(rows, structure, writer)


def _part(rows: list[Row], structure: Structure, writer: Writer) -> list[TaskPart]:
    if not rows:
        return []
    template = unflatten(structure, range(structure.num_leaves))
    leaves = [_column([row[i] for row in rows], writer) for i in range(len(rows[0]))]
    return [TaskPart(block=Columns(leaves, len(rows)) if leaves else ElementRows(rows), template=template)]


def _column(parts: list[Any], writer: Writer) -> Any:
    """Store one component of elements of one kind: large ones are stacked where the other process has them at once."""
    stored = writer.stack(parts) if isinstance(parts[0], np.ndarray) else None
    return stack_rows([[part] for part in parts])[0] if stored is None else stored


def _kinds(row: Row) -> tuple[Any, ...]:
    return shapes_of(row), tuple(getattr(leaf, "dtype", type(leaf)) for leaf in row)
