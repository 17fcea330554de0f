"""`K.set_session` and `K.get_session`, which programs have for a session's settings (keras2 layer)."""

from typing import Any

from stratax.base.shown import shown
from stratax.errors import BadTypeError

# The session that was set last.
_SET: list[Any] = []


def set_session(session: Any) -> None:
    """Have `get_session` return a session, as `tf.keras.backend.set_session`.

    A model of Keras computes by itself, on all of the process' devices: the settings have no effect on it.

    Args:
        session: A `tf.compat.v1.Session`.

    Raises:
        BadTypeError: If it is none.
    """
    if not hasattr(session, "run") or not hasattr(session, "graph"):
        raise BadTypeError(f"session must be a tf.compat.v1.Session. Received: session={shown(session)}.")
    _SET[:] = [session]


def get_session(op_input_list: object = ()) -> Any:
    """Return the session that is entered, else the one that was set, as `tf.keras.backend.get_session`.

    Args:
        op_input_list: Ignored.

    Returns:
        A `tf.compat.v1.Session`: a new one where there is none.
    """
    # A program that only trains models loads nothing of it.
    from stratax.tensorflow.graph import Session, get_default_session

    if (entered := get_default_session()) is not None:
        return entered
    if not _SET:
        _SET[:] = [Session()]
    return _SET[0]
