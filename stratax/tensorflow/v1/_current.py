"""Which model scope is entered on this thread (v1 layer)."""

import contextlib
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

from stratax import errors
from stratax.tensorflow.v1._default import DEFAULT, DefaultGraph

if TYPE_CHECKING:
    from stratax.tensorflow.v1._scope import ModelScope


# Of a thread, as traces are.
class _Active(threading.local):
    scope: "ModelScope | None" = None
    traced: "ModelScope | None" = None


_active = _Active()


@contextlib.contextmanager
def entering(scope: "ModelScope") -> Iterator[None]:
    """Make a scope the one that is entered, for a block."""
    before, _active.scope = _active.scope, scope
    try:
        yield
    finally:
        _active.scope = before


@contextlib.contextmanager
def reading(scope: "ModelScope | None") -> Iterator[None]:
    """Have functions that only read a graph, such as `tf.train.get_global_step`, find a scope in a block.

    Unlike in :func:`entering`, assignments in the block take effect at once, as they do outside of a `model_fn`.

    Args:
        scope: One whose trace has ended; None for none.
    """
    before, _active.traced = _active.traced, scope
    try:
        yield
    finally:
        _active.traced = before


def readable() -> "ModelScope | DefaultGraph":
    """Return the scope that is traced, or the one that session hooks read while they run, or the default graph."""
    return _active.scope or _active.traced or DEFAULT


def current_or_none() -> "ModelScope | None":
    """Return the scope of the `model_fn` that is being traced on this thread, or None."""
    return _active.scope


def current() -> "ModelScope":
    """Return the scope of the `model_fn` that is being traced on this thread.

    Raises:
        ModelScopeError: If none is.
    """
    scope = _active.scope
    if scope is None:
        raise errors.ModelScopeError(
            "This function of TensorFlow 1 adds to a graph. Expected: a call inside of a `model_fn`, which an "
            "Estimator traces. Received: a call outside of one. Call it there, or use TensorFlow 2's function."
        )
    return scope
