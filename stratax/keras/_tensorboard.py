"""Keras' TensorBoard callback without TensorFlow (keras layer).

The callback writes through `tensorflow.summary`. Where TensorFlow is not installed, `stratax.summary` stands in for it.
"""

import importlib.util
import os
import types

import keras

from stratax import summary
from stratax.seams import keras as seam

_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def install() -> None:
    """Let Keras' callback write through `stratax.summary`, unless TensorFlow is there."""
    if not _has_tensorflow():
        seam.install(
            "stratax.keras",
            {
                "keras:callbacks.TensorBoard.summary": lambda _: property(_summary_of),
                "keras:callbacks.TensorBoard._write_keras_model_summary": lambda _: _write_model,
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
