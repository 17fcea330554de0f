"""What callbacks of Keras 2 log and take (keras2 layer)."""

import functools
from collections.abc import Callable
from typing import Any

from stratax.seams import keras2 as seam


def install() -> None:
    """Put the names in place; safe to call again."""
    for name in ("LearningRateScheduler", "ReduceLROnPlateau"):
        seam.widen(f"keras:callbacks.{name}.on_epoch_end", _with_lr)
    seam.widen("keras:callbacks.ModelCheckpoint.on_epoch_end", _with_period)
    seam.widen("keras.src.callbacks.monitor_callback:MonitorCallback._set_monitor_op", _of_any_name)


def _with_lr(original: Callable[..., None]) -> Callable[..., None]:
    """Log the learning rate by Keras 2's name, too: programs plot `history.history["lr"]`."""

    @functools.wraps(original)
    def on_epoch_end(self: Any, epoch: int, logs: dict[str, Any] | None = None) -> None:
        original(self, epoch, logs)
        if logs is not None and "learning_rate" in logs:
            logs["lr"] = logs["learning_rate"]

    return on_epoch_end


def _with_period(original: Callable[..., None]) -> Callable[..., None]:
    """Save after every so many epochs, where the program gives a `period`."""

    @functools.wraps(original)
    def on_epoch_end(self: Any, epoch: int, logs: dict[str, Any] | None = None) -> None:
        if self.save_freq == "epoch":
            self.epochs_since_last_save += 1
            if self.epochs_since_last_save < self.period:
                return
            self.epochs_since_last_save = 0
        original(self, epoch, logs)

    return on_epoch_end


def _of_any_name(original: Callable[..., None]) -> Callable[..., None]:
    """Let what is monitored be to fall, where Keras 3 knows nothing of it, unless it is called an accuracy."""

    @functools.wraps(original)
    def _set_monitor_op(self: Any) -> None:
        try:
            original(self)
        except ValueError:
            self.mode = "max" if self.monitor.endswith(("acc", "accuracy", "auc")) else "min"
            original(self)

    return _set_monitor_op
