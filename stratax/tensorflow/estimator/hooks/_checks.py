"""Checks of the hooks and listeners that a user passes (estimator layer)."""

from collections.abc import Iterable
from typing import Any

from stratax import errors
from stratax.base.shown import shown
from stratax.tensorflow.estimator.hooks._listener import CheckpointSaverListener
from stratax.tensorflow.estimator.hooks._session_run_hook import SessionRunHook


def check_hooks(hooks: Iterable[SessionRunHook] | None, name: str = "hooks") -> tuple[SessionRunHook, ...]:
    """Return hooks as a tuple.

    Args:
        hooks: The hooks; None for none.
        name: The argument's name, for the message.

    Raises:
        BadTypeError: If one is not a `SessionRunHook`.
    """
    return _check(hooks, name, SessionRunHook)


def check_listeners(
    listeners: Iterable[CheckpointSaverListener] | None,
) -> tuple[CheckpointSaverListener, ...]:
    """Return saving listeners as a tuple.

    Args:
        listeners: The listeners; None for none.

    Raises:
        BadTypeError: If one is not a `CheckpointSaverListener`.
    """
    return _check(listeners, "saving_listeners", CheckpointSaverListener)


def _check(values: Iterable[Any] | None, name: str, kind: type) -> tuple[Any, ...]:
    if values is None:
        return ()
    if not isinstance(values, Iterable):
        raise errors.BadTypeError(
            f"{name} must be a list of {kind.__name__} instances. Received: {name}={shown(values)}. "
            f"Write {name}=[...] also for one."
        )
    found = tuple(values)
    for value in found:
        if not isinstance(value, kind):
            made = " Make an instance of the class." if isinstance(value, type) else ""
            raise errors.BadTypeError(
                f"All {name} must be {kind.__name__} instances. Received: {shown(value)}.{made}"
            )
    return found
