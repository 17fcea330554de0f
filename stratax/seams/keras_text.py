"""Layers of text, which Keras makes on TensorFlow only, and inputs of text (seams layer)."""

import functools
from typing import Any

import keras
from keras.src.utils import module_utils

from stratax.base import providers
from stratax.seams import keras as seam

# What has layers of text without TensorFlow, and lets models take text.
PURPOSE = "text in models"
_LAYERS = ("HashedCrossing", "Hashing", "IntegerLookup", "StringLookup", "TextVectorization")


def install() -> None:
    """Have Keras' layers of text be those that need no TensorFlow, and models take inputs of text."""
    paths = {f"keras:layers.{name}.__new__": functools.partial(_of_text, name) for name in _LAYERS}
    paths["keras:utils.FeatureSpace.__new__"] = functools.partial(_of_text, None)
    seam.install("stratax.seams", {**paths, "keras:layers.InputLayer.__new__": _with_text})


def text_in_models() -> Any:
    """Return what lets models take text, in place."""
    (module,) = providers.providers(PURPOSE)
    module.install()
    return module


def _of_text(name: str | None, original: Any) -> Any:
    make = original.__func__ if isinstance(original, staticmethod) else original

    @functools.wraps(make)
    def new(cls: Any, *args: Any, **kwargs: Any) -> Any:
        kind = cls
        if name is None:
            text_in_models()
        elif cls is getattr(keras.layers, name) and not module_utils.tensorflow.available:
            kind = text_in_models().layer_class(name)
        return make(kind, *args, **kwargs)

    return staticmethod(new)


def _with_text(original: Any) -> Any:
    make = original.__func__ if isinstance(original, staticmethod) else original

    @functools.wraps(make)
    def new(cls: Any, *args: Any, **kwargs: Any) -> Any:
        dtype = kwargs.get("dtype")
        if dtype is not None and keras.backend.standardize_dtype(dtype) == "string":
            text_in_models()
        return make(cls, *args, **kwargs)

    return staticmethod(new)
