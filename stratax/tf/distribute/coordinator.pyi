"""`tf.distribute.coordinator` (tf layer)."""

from stratax.distribute import ClusterCoordinator as ClusterCoordinator
from stratax.distribute import RemoteValue as RemoteValue
