"""What a function would have written to arrays in branches that were not taken (ops layer).

TensorFlow traces both branches of a condition, and the body of a loop that goes through nothing: it knows the shape of
a TensorArray's elements though nothing is written to it. Where Python computes at once it runs only what is run. What
it leaves out is remembered by arrays that await their shape, and run if somebody asks for it: such a look tells shapes,
and what it computes is forgotten.
"""

import contextlib
import functools
import itertools
from collections.abc import Callable, Iterable, Sequence
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from stratax.base.surroundings import Slot
from stratax.core import autograph, control
from stratax.data.vectorise import in_pipeline

_LOOKING: Slot[bool] = Slot("looking at what was left out", False)
# Whether a function is run again, rewritten: what is not known then is known in no way.
_AGAIN: Slot[bool] = Slot("run again, rewritten", False)
# Locals are read and set by functions, as AutoGraph's operators do it.
_Get = Callable[[], tuple[Any, ...]]
_Set = Callable[[Sequence[Any]], None]


class UnwrittenError(control.RunAgainError):
    """Nothing was written to an array, and its shape is not known."""

    @staticmethod
    def rewritten(function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function as AutoGraph rewrites it, whose branches and loops are watched."""

        @functools.wraps(function)
        def run(*args: object, **kwargs: object) -> Any:
            with _AGAIN.holding(True):
                return autograph.convert(function)(*args, **kwargs)

        return run


def may_run_again() -> bool:
    """Return whether the function that is run is run again, rewritten, if it lacks a shape."""
    return in_pipeline() and not _AGAIN.get()


def is_looking() -> bool:
    """Return whether what is run now is run for the shapes that it writes alone."""
    return _LOOKING.get()


class _LeftOut(NamedTuple):
    """A branch or a body that was not run, and the locals that it would have begun with."""

    run: Callable[[], object]
    state: tuple[Any, ...]
    get_state: _Get
    set_state: _Set


class Awaiting(control.Growing):
    """Base class of arrays that may await the shape of their elements."""

    # Made by the first that is remembered: an array is one of many.
    _left_out: dict[object, _LeftOut] | None = None

    def _awaits_shape(self) -> bool:
        """Return whether nothing tells the shape of its elements yet."""
        raise NotImplementedError

    def _look(self) -> None:
        """Run what was left out, for what it would have written to this array, until that is known."""
        for left_out in (self._left_out or {}).values():
            if not self._awaits_shape():
                return
            now = left_out.get_state()
            with _LOOKING.holding(True):
                left_out.set_state(left_out.state)
                # What is left out need not be valid: the data may be such that it can't be run.
                with contextlib.suppress(Exception):
                    left_out.run()
            left_out.set_state(now)


def _remember(run: Callable[[], object], key: object, get_state: _Get, set_state: _Set) -> None:
    """Have arrays that await their shape remember what may be left out; of each place in the code, the first."""
    state = get_state()
    for value in state:
        if isinstance(value, Awaiting) and value._awaits_shape():
            if value._left_out is None:
                value._left_out = {}
            value._left_out.setdefault(key, _LeftOut(run, state, get_state, set_state))


def _watch_branches(taken: FunctionType, other: FunctionType, get_state: _Get, set_state: _Set) -> bool:
    if not is_looking():
        _remember(other, other.__code__, get_state, set_state)
        return False
    state = get_state()
    with contextlib.suppress(Exception):
        other()
    # Last, so that the locals are those of the branch that is taken.
    set_state(state)
    taken()
    return True


def _watch_loop(iterated: Iterable[Any], body: FunctionType, get_state: _Get, set_state: _Set) -> bool:
    sample = _sample(iterated)
    if is_looking():
        # One is enough.
        for element in [*itertools.islice(iterated, 1)] or [sample]:
            body(element)
        return True
    if sample is not None:
        _remember(lambda: body(sample), body.__code__, get_state, set_state)
    return False


def _watch_while(body: FunctionType, get_state: _Get, set_state: _Set) -> bool:
    if is_looking():
        body()
        return True
    _remember(body, body.__code__, get_state, set_state)
    return False


def _sample(iterated: object) -> Any:
    """Return what an element of an array would be like, or a number of a range; None of what TensorFlow unrolls."""
    if isinstance(iterated, type(control.range(1))):
        return np.int32(0)
    shape, dtype = getattr(iterated, "shape", ()), getattr(iterated, "dtype", None)
    return np.zeros(shape[1:], dtype) if len(shape) and dtype is not None else None


_WATCHES: dict[str, Callable[..., bool]] = {
    "branches": _watch_branches,
    "loop": _watch_loop,
    "while": _watch_while,
}


def _watch(kind: str, *what: object) -> bool:
    return _AGAIN.get() and _WATCHES[kind](*what)


control.WATCHING.append(_watch)
