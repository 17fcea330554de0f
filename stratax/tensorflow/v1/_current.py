"""Which model scope is entered on this thread (v1 layer)."""

from typing import TYPE_CHECKING

from stratax import errors
from stratax.base.surroundings import Slot, Surroundings
from stratax.tensorflow.v1._default import DEFAULT, DefaultGraph

if TYPE_CHECKING:
    from stratax.tensorflow.v1._scope import ModelScope


_ENTERED: Slot["ModelScope | None"] = Slot("model scope", None)
_READ: Slot["ModelScope | None"] = Slot("model scope that is read", None)


def entering(scope: "ModelScope") -> Surroundings:
    """Make a scope the one that is entered, for a block."""
    return _ENTERED.holding(scope)


def reading(scope: "ModelScope | None") -> Surroundings:
    """Have functions that only read a graph, such as `tf.train.get_global_step`, find a scope in a block.

    Unlike in :func:`entering`, assignments in the block take effect at once, as they do outside of a `model_fn`.

    Args:
        scope: One whose trace has ended; None for none.
    """
    return _READ.holding(scope)


def readable() -> "ModelScope | DefaultGraph":
    """Return the scope that is traced, or the one that session hooks read while they run, or the default graph."""
    return _ENTERED.get() or _READ.get() or DEFAULT


def current_or_none() -> "ModelScope | None":
    """Return the scope of the `model_fn` that is being traced on this thread, or None."""
    return _ENTERED.get()


def current() -> "ModelScope":
    """Return the scope of the `model_fn` that is being traced on this thread.

    Raises:
        ModelScopeError: If none is.
    """
    scope = _ENTERED.get()
    if scope is None:
        raise errors.ModelScopeError(
            "This function of TensorFlow 1 adds to a graph. Expected: a call inside of a `model_fn`, which an "
            "Estimator traces. Received: a call outside of one. Call it there, or use TensorFlow 2's function."
        )
    return scope
