"""The numbers of an epoch or a batch, fetched so that Ctrl-C and failures come through (keras layer)."""

from typing import Any

import jax

from stratax.core import storage
from stratax.seams import keras as seam

_KERAS_LOGS = ("keras.src.utils.python_utils:pythonify_logs", "keras.src.backend.jax.trainer:pythonify_logs")
_convert = seam.original(_KERAS_LOGS[0])


def pythonify_logs(logs: dict[str, Any] | None) -> dict[str, Any]:
    """Turn arrays among logs into numbers, as Keras' function of this name does.

    Keras converts in a `try` with a bare `except`, and the conversion is where a program waits for its devices: Ctrl-C
    in that time was lost and `fit` went on, and so was the error of a program that failed. Here the wait stands before
    the conversion.

    Args:
        logs: Values by name, among them arrays.

    Returns:
        Numbers by name.

    Raises:
        KeyboardInterrupt: If Ctrl-C came while the devices were at work.
    """
    if not logs:
        return {}  # Before each batch there are none.
    jax.block_until_ready(logs)
    # The values are there: converting is quick, and its bare `except` would swallow Ctrl-C.
    with storage.InterruptDeferred():
        return _convert(logs)


def install() -> None:
    """Replace Keras' function in the modules that call it."""
    seam.install("stratax.keras", dict.fromkeys(_KERAS_LOGS, lambda _: pythonify_logs))
