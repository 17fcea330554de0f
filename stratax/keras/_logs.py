"""The numbers of an epoch or a batch: fetched so that failures come through, and looked at for NaN (keras layer)."""

import warnings
from typing import Any

import jax
import keras

from stratax.base.callers import stack_level
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


class WarnOfNaN(keras.callbacks.Callback):
    """Warns once in a `fit` when its loss becomes NaN.

    It looks at values that are fetched from the devices anyway: the logs of an epoch, and those of each batch where
    another callback, such as the progress bar, reads them.
    """

    # Tells Keras that batches' logs may be handed over by a thread of their own.
    async_safe = True

    def __init__(self) -> None:
        super().__init__()
        self._epoch = 0
        self._has_warned = False

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        """See `keras.callbacks.Callback.on_train_begin`."""
        self._has_warned = False

    def on_epoch_begin(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """See `keras.callbacks.Callback.on_epoch_begin`."""
        self._epoch = epoch

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """See `keras.callbacks.Callback.on_train_batch_end`."""
        self._look(logs, f"at step {batch + 1} of epoch {self._epoch + 1}")

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """See `keras.callbacks.Callback.on_epoch_end`."""
        self._look(logs, f"in epoch {epoch + 1}")

    def _look(self, logs: dict[str, Any] | None, when: str) -> None:
        loss = (logs or {}).get("loss")
        # Of all numbers only NaN differs from itself.
        if self._has_warned or not isinstance(loss, float) or loss == loss:
            return
        self._has_warned = True
        warnings.warn(
            f"The loss became NaN {when}, and training goes on. Look for NaN in the input and for log(0) or a division "
            "by 0 in the loss; try a smaller learning rate or gradient clipping (`clipnorm=1.0` of the optimizer). "
            "`keras.callbacks.TerminateOnNaN()` ends training at such a loss.",
            RuntimeWarning,
            stacklevel=stack_level(),
        )


def install() -> None:
    """Replace Keras' function in the modules that call it."""
    seam.install("stratax.keras", dict.fromkeys(_KERAS_LOGS, lambda _: pythonify_logs))
