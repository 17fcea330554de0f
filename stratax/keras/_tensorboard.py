"""Keras' TensorBoard callback without TensorFlow (keras layer).

The callback writes through `tensorflow.summary`. Where TensorFlow is not installed, `stratax.summary` stands in for it.
"""

import functools
import importlib.util
import os
import types
from collections.abc import Callable
from typing import Any

import keras
import numpy as np

from stratax import summary
from stratax.distribute import strategies
from stratax.engine import NewStaleness
from stratax.seams import keras as seam

# The attribute of a callback that tells what is new.
_NOTED = "_stratax_staleness"
_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def install() -> None:
    """Let Keras' callback write through `stratax.summary`, unless TensorFlow is there."""
    if not _has_tensorflow():
        seam.install(
            "stratax.keras",
            {
                "keras:callbacks.TensorBoard.summary": lambda _: property(_summary_of),
                "keras:callbacks.TensorBoard._write_keras_model_summary": lambda _: _write_model,
                "keras:callbacks.TensorBoard._log_epoch_metrics": _with_staleness,
            },
        )


def _has_tensorflow() -> bool:
    # Looked for without importing it, which takes seconds. It may be what stands in for it: `stratax.tf` by that name.
    found = importlib.util.find_spec("tensorflow")
    return found is not None and not str(found.origin).startswith(_ROOT)


def _summary_of(callback: keras.callbacks.TensorBoard) -> types.ModuleType:
    return summary


def _write_model(callback: keras.callbacks.TensorBoard) -> None:
    if isinstance(callback.model, (keras.Sequential, seam.Functional)) and callback.model.built:
        with callback._train_writer.as_default():
            summary.keras_model("keras", callback.model, step=0)


def log_weights(callback: Any, epoch: int) -> None:
    """Write a model's weights, which are read here: of those in parts, whoever writes has them whole one by one."""
    with callback._train_writer.as_default():
        for weight in (weight for layer in callback.model.layers for weight in layer.weights):
            value, name = np.asarray(weight), weight.path.replace(":", "_")
            callback.summary.histogram(f"{name}/histogram", value, step=epoch)
            if callback.write_images:
                callback._log_weight_as_image(value, f"{name}/image", epoch)
        callback._train_writer.flush()


def _with_staleness(original: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(original)
    def _log_epoch_metrics(self: Any, epoch: int, logs: object) -> None:
        original(self, epoch, logs)
        variables = self.model.trainable_variables
        strategy = strategies.owner(variables[0]) if variables else None
        if strategy is None or strategies.workers_of(strategy.extended.execution) is None:
            return
        found = self.__dict__.setdefault(_NOTED, NewStaleness()).of(strategy)
        with self._train_writer.as_default():
            summary.histogram("epoch_staleness", found, step=epoch)

    return _log_epoch_metrics
