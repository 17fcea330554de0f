"""`tf.train`: the messages of Examples, and clusters (tf layer)."""

from stratax.cluster import ClusterSpec as ClusterSpec
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
__getattr__ = missing_name(__name__, __all__)
