"""`tf.contrib.saved_model`: models of Keras in folders."""

import os
from collections.abc import Mapping
from typing import Any

import keras


def save_keras_model(
    model: keras.Model,
    saved_model_path: str | os.PathLike[str],
    custom_objects: Mapping[str, Any] | None = None,
    as_text: bool | None = None,
    input_signature: object = None,
    serving_only: bool = False,
) -> bytes:
    """Save a model of Keras in a folder, as `tf.contrib.saved_model.save_keras_model`.

    Args:
        model: The model.
        saved_model_path: The folder.
        custom_objects: Ignored.
        as_text: Ignored.
        input_signature: Ignored.
        serving_only: Ignored.

    Returns:
        The folder, as `bytes`, as before TensorFlow 1.14.
    """
    model.save(os.fspath(saved_model_path))
    return os.fsencode(saved_model_path)


def load_keras_model(
    saved_model_path: str | bytes | os.PathLike[str], custom_objects: Mapping[str, Any] | None = None
) -> Any:
    """Return a model that :func:`save_keras_model` has saved, as `tf.contrib.saved_model.load_keras_model`.

    Args:
        saved_model_path: The folder.
        custom_objects: Classes and functions by their names.
    """
    return keras.models.load_model(os.fsdecode(saved_model_path), custom_objects)
