"""Who is told the names that tensors are given, which mean something in a `model_fn` only (ops layer)."""

import functools
import inspect
import re
import sys
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from stratax.base import tracebacks as _tracebacks
from stratax.base.recording import NOT_RECORDED, RECORDER
from stratax.base.refusals import raises_named
from stratax.base.surroundings import Slot, Surroundings
from stratax.data.elements import RaggedTensor
from stratax.data.vectorise import gives_tensors
from stratax.tensorflow.ops.calls._eager import NOT_COMPUTED, EagerPrograms

_Function = TypeVar("_Function", bound=Callable[..., Any])
# Parameters that are functions of the program's, in which it may ask for values.
_FUNCTIONS = re.compile(r"fn|func|body|activation|initializer")


_NOTE: Slot[Callable[[str | None, Any], Any] | None] = Slot("listener to names", None)
_NOTE_ROWS: Slot[Callable[[Any, Any], object] | None] = Slot("listener to rows", None)


def telling(
    note: Callable[[str | None, Any], Any], note_rows: Callable[[Any, Any], object] | None = None
) -> Surroundings:
    """Call functions with what `nameable` functions compute in a block.

    Args:
        note: Called with the name, or None, and the result; returns what takes its place.
        note_rows: Called with a result and the array of whose rows it consists: see :func:`of_same_rows`.
    """
    return _NOTE.holding(note) | _NOTE_ROWS.holding(note_rows)


def is_told() -> bool:
    """Return whether somebody is told of names on this thread: a `model_fn` is traced."""
    return _NOTE.get() is not None


class _Graphs:
    # Gives the operation of a tensor, once there are graphs: whoever makes them says so, once.
    operation_of: Callable[[Any], Any] | None = None


def find_operations_by(function: Callable[[Any], Any]) -> None:
    """Have a function give the operations of tensors; None for a tensor that belongs to no graph."""
    _Graphs.operation_of = staticmethod(function)


def operation_of(tensor: Any) -> Any:
    """Return the operation that a tensor of a graph is the result of; None for others."""
    return None if _Graphs.operation_of is None else _Graphs.operation_of(tensor)


def _holds_ragged(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Return whether there is a RaggedTensor among operands, or in a list that begins with one."""
    # This is asked at every call: nothing is looked at but types.
    for value in (*args, *kwargs.values()) if kwargs else args:
        kind = type(value)
        if kind is RaggedTensor or (
            (kind is list or kind is tuple) and value and type(value[0]) is RaggedTensor
        ):
            return True
    return False


def of_same_rows(made: Any, source: Any) -> Any:
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


def nameable_of(*arrays: str) -> Callable[[_Function], _Function]:
    """Return what makes a function `nameable`, and computes it at once where its operands are JAX' arrays alone.

    Args:
        arrays: The names of its first parameters, its operands. It depends on nothing else than these and options, and
            on the operands' values in no way that a compiled function could not. It changes nothing.
    """
    return functools.partial(nameable, arrays=arrays)


def nameable(function: _Function, arrays: Sequence[str] = ()) -> _Function:
    """Return the function, whose results the listener is told of.

    Args:
        function: It takes `name`.
        arrays: As for `nameable_of`.
    """
    parameters = inspect.signature(function).parameters
    is_positional = parameters["name"].kind is not inspect.Parameter.KEYWORD_ONLY
    position = list(parameters).index("name") if is_positional else sys.maxsize
    calls_back = any(_FUNCTIONS.search(parameter) for parameter in parameters)
    # What a function of the user's raises stays as it is.
    unnamed = function if calls_back else gives_tensors(function)
    refusing = function if calls_back else raises_named(function)
    programs = EagerPrograms(function, arrays, position) if arrays else None

    @functools.wraps(function)
    def told(*args: Any, **kwargs: Any) -> Any:
        recorder = RECORDER.get()
        if recorder is not None:
            recorded = recorder.called(told, args, kwargs)
            if recorded is not NOT_RECORDED:
                return recorded
        note = _NOTE.get()
        if programs is not None and note is None:
            computed = programs.computed(args, kwargs)
            if computed is not NOT_COMPUTED:
                return computed
        if _holds_ragged(args, kwargs):
            from stratax.tensorflow.ops.arrays._ragged_operands import of_ragged

            return of_ragged(function, args, kwargs)
        try:
            if note is None:
                return unnamed(*args, **kwargs)
            result = refusing(*args, **kwargs)
        except Exception as error:
            _tracebacks.shorten(error)
            raise
        return note(kwargs.get("name") or (args[position] if len(args) > position else None), result)

    return told  # type: ignore[return-value]
