"""`tf.distribute.cluster_resolver` (tf layer)."""

from stratax.cluster import ClusterResolver as ClusterResolver
from stratax.cluster import TPUClusterResolver as TPUClusterResolver
from stratax.tf._names import missing_name

__all__ = [
    "ClusterResolver",
    "TPUClusterResolver",
]
__getattr__ = missing_name(__name__, __all__)
