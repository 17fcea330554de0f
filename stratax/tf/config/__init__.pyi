"""`tf.config` (tf layer)."""

import stratax.core.functions
from stratax.cluster import LogicalDevice as LogicalDevice
from stratax.cluster import PhysicalDevice as PhysicalDevice
from stratax.cluster import experimental_connect_to_cluster as experimental_connect_to_cluster
from stratax.cluster import experimental_connect_to_host as experimental_connect_to_host
from stratax.cluster import list_logical_devices as list_logical_devices
from stratax.cluster import list_physical_devices as list_physical_devices
from stratax.cluster.settings import LogicalDeviceConfiguration as LogicalDeviceConfiguration
from stratax.cluster.settings import get_logical_device_configuration as get_logical_device_configuration
from stratax.cluster.settings import get_soft_device_placement as get_soft_device_placement
from stratax.cluster.settings import get_visible_devices as get_visible_devices
from stratax.cluster.settings import set_logical_device_configuration as set_logical_device_configuration
from stratax.cluster.settings import set_soft_device_placement as set_soft_device_placement
from stratax.cluster.settings import set_visible_devices as set_visible_devices
from stratax.core.functions import functions_run_eagerly as functions_run_eagerly
from stratax.core.functions import run_functions_eagerly as run_functions_eagerly

from . import experimental as experimental
from . import optimizer as optimizer
from . import threading as threading

experimental_functions_run_eagerly = stratax.core.functions.functions_run_eagerly
experimental_run_functions_eagerly = stratax.core.functions.run_functions_eagerly
