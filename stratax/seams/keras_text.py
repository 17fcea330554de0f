"""Layers and inputs of text, which Keras has on TensorFlow only (seams layer)."""

import functools
from typing import Any

import keras
from keras.src.utils import module_utils

from stratax.base import providers
from stratax.seams import keras as seam

_LAYERS = ("HashedCrossing", "Hashing", "IntegerLookup", "StringLookup", "TextVectorization")
in_place: list[bool] = []  # Whether models take text: a fact of Keras' classes.


def install() -> None:
    """Have Keras' layers of text be those that need no TensorFlow, and models take inputs of text."""
    for name in (*(f"layers.{each}" for each in _LAYERS), "layers.InputLayer", "utils.FeatureSpace"):
        seam.install("stratax.seams", {f"keras:{name}.__new__": functools.partial(_asking, name)})


def text_in_models() -> Any:
    """Return what lets models take text, in place."""
    (module,) = providers.providers("text in models")
    module.install()
    return module


def _asking(name: str, original: Any) -> Any:
    make, own = original.__func__, name.rpartition(".")[2]

    @functools.wraps(make)
    def new(cls: Any, *args: object, **kwargs: object) -> Any:
        if own in _LAYERS:
            if cls is getattr(keras.layers, own) and not module_utils.tensorflow.available:
                cls = text_in_models().layer_class(own)
        elif own == "FeatureSpace" or keras.backend.standardize_dtype(kwargs.get("dtype")) == "string":
            text_in_models()
        return make(cls, *args, **kwargs)

    return staticmethod(new)
