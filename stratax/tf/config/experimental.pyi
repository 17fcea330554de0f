"""`tf.config.experimental` (tf layer)."""

import stratax.cluster.settings
from stratax.cluster import list_logical_devices as list_logical_devices
from stratax.cluster import list_physical_devices as list_physical_devices
from stratax.cluster.settings import enable_op_determinism as enable_op_determinism
from stratax.cluster.settings import enable_tensor_float_32_execution as enable_tensor_float_32_execution
from stratax.cluster.settings import get_device_details as get_device_details
from stratax.cluster.settings import get_device_policy as get_device_policy
from stratax.cluster.settings import get_memory_growth as get_memory_growth
from stratax.cluster.settings import get_memory_info as get_memory_info
from stratax.cluster.settings import get_memory_usage as get_memory_usage
from stratax.cluster.settings import get_synchronous_execution as get_synchronous_execution
from stratax.cluster.settings import get_visible_devices as get_visible_devices
from stratax.cluster.settings import set_device_policy as set_device_policy
from stratax.cluster.settings import set_memory_growth as set_memory_growth
from stratax.cluster.settings import set_synchronous_execution as set_synchronous_execution
from stratax.cluster.settings import set_visible_devices as set_visible_devices
from stratax.cluster.settings import tensor_float_32_execution_enabled as tensor_float_32_execution_enabled

VirtualDeviceConfiguration = stratax.cluster.settings.LogicalDeviceConfiguration
get_virtual_device_configuration = stratax.cluster.settings.get_logical_device_configuration
set_virtual_device_configuration = stratax.cluster.settings.set_logical_device_configuration
