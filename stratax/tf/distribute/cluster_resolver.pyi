"""`tf.distribute.cluster_resolver` (tf layer)."""

from stratax.cluster import ClusterResolver as ClusterResolver
from stratax.cluster import KubernetesClusterResolver as KubernetesClusterResolver
from stratax.cluster import SimpleClusterResolver as SimpleClusterResolver
from stratax.cluster import SlurmClusterResolver as SlurmClusterResolver
from stratax.cluster import TFConfigClusterResolver as TFConfigClusterResolver
from stratax.cluster import TPUClusterResolver as TPUClusterResolver
