"""What models take text by, for strategies and for Keras without TensorFlow (keras2 layer).

Keras and strategies ask for it by its purpose when a model first needs it.
"""

import functools
from collections.abc import Callable
from typing import Any

from stratax.base.typing import PyTree
from stratax.seams import keras2 as seam
from stratax.seams import keras_text
from stratax.tensorflow.keras2 import layer_text

changes = layer_text.changes
in_step = layer_text.in_step
numbers_of = layer_text.numbers_of
plan_of = layer_text.plan_of


def install() -> None:
    """Put all in place; safe to call again."""
    keras_text.in_place[:] = [True]
    layer_text.install()
    seam.widen("keras:utils.FeatureSpace.__call__", _call_features)
    seam.widen("keras:utils.FeatureSpace.adapt", _adapt_features)


def layer_class(name: str) -> type:
    """Return the class that stands for one of Keras' layers of text.

    Args:
        name: The name of Keras' class.
    """
    from stratax.tensorflow.keras2 import lookups, text

    made: type = getattr(text if name == "TextVectorization" else lookups, name)
    return made


# Keras' FeatureSpace computes with TensorFlow's functions.


def _adapt_features(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def adapt(self: Any, dataset: PyTree) -> None:
        from stratax.tensorflow.keras2 import features

        features.adapt(self, dataset)

    return adapt


def _call_features(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def __call__(self: Any, data: PyTree) -> Any:
        from stratax.tensorflow.keras2 import features

        return features.call(self, data)

    return __call__
