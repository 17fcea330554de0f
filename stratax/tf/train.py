"""`tf.train`: the messages of Examples, and clusters (tf layer)."""

import importlib
from typing import TYPE_CHECKING, Any

from stratax.data import BytesList as BytesList
from stratax.data import Example as Example
from stratax.data import Feature as Feature
from stratax.data import FeatureList as FeatureList
from stratax.data import FeatureLists as FeatureLists
from stratax.data import Features as Features
from stratax.data import FloatList as FloatList
from stratax.data import Int64List as Int64List
from stratax.data import SequenceExample as SequenceExample
from stratax.tf._names import missing_name

if TYPE_CHECKING:
    from stratax.cluster import ClusterSpec as ClusterSpec

__all__ = [
    "BytesList",
    "ClusterSpec",
    "Example",
    "Feature",
    "FeatureList",
    "FeatureLists",
    "Features",
    "FloatList",
    "Int64List",
    "SequenceExample",
]


def _load(name: str) -> Any:
    # Clusters need JAX, which who only reads and writes Examples need not load.
    return getattr(importlib.import_module("stratax.cluster"), name)


__getattr__ = missing_name(__name__, __all__, _load)
