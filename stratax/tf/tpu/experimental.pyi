"""`tf.tpu.experimental` (tf layer)."""

from stratax.cluster import DeviceAssignment as DeviceAssignment
from stratax.cluster import DeviceOrderMode as DeviceOrderMode
from stratax.cluster import Topology as Topology
from stratax.cluster import TPUSystemMetadata as TPUSystemMetadata
from stratax.cluster import initialize_tpu_system as initialize_tpu_system
from stratax.cluster import shutdown_tpu_system as shutdown_tpu_system
