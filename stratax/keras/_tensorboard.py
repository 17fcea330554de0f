"""Keras' TensorBoard callback without TensorFlow (keras layer).

The callback writes through `tensorflow.summary`. Where TensorFlow is not installed, :class:`stratax.summary.Summary`
stands in for it.
"""

import importlib.util

import keras

from stratax.seams import keras as seam
from stratax.summary import Summary


def install() -> None:
    """Let Keras' callback write through :class:`Summary`, unless TensorFlow is there."""
    # Looked for without importing it, which takes seconds.
    if importlib.util.find_spec("tensorflow") is None:
        seam.install(
            "stratax.keras",
            {
                "keras:callbacks.TensorBoard.summary": lambda _: property(_summary_of),
                "keras:callbacks.TensorBoard._write_keras_model_summary": lambda _: _write_model,
            },
        )


def _summary_of(callback: keras.callbacks.TensorBoard) -> Summary:
    if callback._summary_module is None:
        callback._summary_module = Summary()
    return callback._summary_module


def _write_model(callback: keras.callbacks.TensorBoard) -> None:
    if isinstance(callback.model, (keras.Sequential, seam.Functional)) and callback.model.built:
        with callback._train_writer.as_default():
            _summary_of(callback).model("keras", callback.model, step=0)
