"""`tf.config` (tf layer)."""

from stratax.cluster import LogicalDevice as LogicalDevice
from stratax.cluster import PhysicalDevice as PhysicalDevice
from stratax.cluster import experimental_connect_to_cluster as experimental_connect_to_cluster
from stratax.cluster import experimental_connect_to_host as experimental_connect_to_host
from stratax.cluster import list_logical_devices as list_logical_devices
from stratax.cluster import list_physical_devices as list_physical_devices
from stratax.tf._names import missing_name

__all__ = [
    "LogicalDevice",
    "PhysicalDevice",
    "experimental_connect_to_cluster",
    "experimental_connect_to_host",
    "list_logical_devices",
    "list_physical_devices",
]
__getattr__ = missing_name(__name__, __all__)
