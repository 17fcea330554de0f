"""Which model scope is entered on this thread (v1 layer)."""

import functools
import inspect
from collections.abc import Callable, Generator
from typing import Any, TypeVar, cast

from stratax.base import tracebacks
from stratax.base.recording import recording_with
from stratax.base.surroundings import Slot, Surroundings
from stratax.core.state import creating_by
from stratax.data.dataset import ONE_SHOT
from stratax.tensorflow.v1._default import DEFAULT, DefaultGraph
from stratax.tensorflow.v1._trace import check_entered, entering_trace
from stratax.tensorflow.v1.scopes import GRAPH, Scope

_Function = TypeVar("_Function", bound=Callable[..., Any])

# Behind the last step of a generator.
_END = object()
_ENTERED: Slot[Scope | None] = Slot("model scope", None)
# That of a trace which is over: hooks read it while steps run.
_READ: Slot[Scope | None] = Slot("model scope that is read", None)


def entering(scope: Scope) -> Surroundings:
    """Make a scope the one that is entered, for a block."""
    return _ENTERED.holding(scope) | entering_trace(scope)


def reading(scope: Scope | None) -> Surroundings:
    """Have functions that only read a graph, such as `tf.train.get_global_step`, find a scope in a block.

    Unlike in :func:`entering`, assignments in the block take effect at once, as they do outside of a `model_fn`.

    Args:
        scope: One whose trace has ended; None for none.
    """
    return _READ.holding(scope)


def leave_graph(function: _Function) -> _Function:
    """Have a function run as if no session's graph was built around it: what Estimators call computes.

    Args:
        function: The function; of a generator each step is made so.
    """
    if inspect.isgeneratorfunction(function):
        return cast(_Function, _leave_in_steps(function))

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        scope = _ENTERED.get()
        if scope is None or scope.mode != GRAPH:
            return function(*args, **kwargs)
        with leaving_graph():
            return function(*args, **kwargs)

    # Or this function would be a line of the traceback.
    return cast(_Function, tracebacks.shortened(call))


def _leave_in_steps(function: Callable[..., Generator[Any]]) -> Callable[..., Generator[Any]]:
    @functools.wraps(function)
    def generate(*args: object, **kwargs: object) -> Generator[Any]:
        steps = function(*args, **kwargs)
        advance = leave_graph(lambda: next(steps, _END))
        try:
            while (value := advance()) is not _END:
                yield value
        finally:
            steps.close()

    return generate


def leaving_graph() -> Surroundings:
    """Have functions of `tf` compute in a block, although a session's graph is built around it."""
    return (
        _ENTERED.holding(None)
        | entering_trace(None)
        | recording_with(None)
        | creating_by(None)
        | ONE_SHOT.holding(None)
    )


def readable() -> Scope | DefaultGraph:
    """Return the scope that is traced, or the one that session hooks read while they run, or the default graph."""
    return _ENTERED.get() or _READ.get() or DEFAULT


def current_or_none() -> Scope | None:
    """Return the scope of the `model_fn` that is being traced on this thread, or None."""
    return _ENTERED.get()


def current() -> Scope:
    """Return the scope of the `model_fn` that is being traced on this thread.

    Raises:
        ModelScopeError: If none is.
    """
    return check_entered(_ENTERED.get())
