"""Who takes part: devices, simulated devices and resolvers.

Layer: above `stratax.core`, below `stratax.data`.
"""

from stratax.cluster._devices import (
    LogicalDevice,
    PhysicalDevice,
    device,
    device_kind,
    device_name,
    list_logical_devices,
    list_physical_devices,
    local_devices,
    resolve_device,
)
from stratax.cluster._resolvers import (
    ClusterResolver,
    Topology,
    TPUClusterResolver,
    TPUSystemMetadata,
    experimental_connect_to_cluster,
    experimental_connect_to_host,
    initialize_tpu_system,
    shutdown_tpu_system,
)
from stratax.cluster._simulate import (
    SimulatedDevices,
    is_simulated,
    parse_specification,
    simulate_devices,
    simulate_from_environment,
    simulated_kind,
)

__all__ = [
    "ClusterResolver",
    "LogicalDevice",
    "PhysicalDevice",
    "SimulatedDevices",
    "TPUClusterResolver",
    "TPUSystemMetadata",
    "Topology",
    "device",
    "device_kind",
    "device_name",
    "experimental_connect_to_cluster",
    "experimental_connect_to_host",
    "initialize_tpu_system",
    "is_simulated",
    "list_logical_devices",
    "list_physical_devices",
    "local_devices",
    "parse_specification",
    "resolve_device",
    "shutdown_tpu_system",
    "simulate_devices",
    "simulate_from_environment",
    "simulated_kind",
]
