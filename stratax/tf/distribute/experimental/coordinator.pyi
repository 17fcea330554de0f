"""`tf.distribute.experimental.coordinator` (tf layer)."""

from stratax.distribute import ClusterCoordinator as ClusterCoordinator
from stratax.distribute import PerWorkerValues as PerWorkerValues
from stratax.distribute import RemoteValue as RemoteValue
