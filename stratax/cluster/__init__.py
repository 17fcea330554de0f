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
from stratax.cluster._simulate import (
    SimulatedDevices,
    is_simulated,
    parse_specification,
    simulate_devices,
    simulate_from_environment,
    simulated_kind,
)

__all__ = [
    "LogicalDevice",
    "PhysicalDevice",
    "SimulatedDevices",
    "device",
    "device_kind",
    "device_name",
    "is_simulated",
    "list_logical_devices",
    "list_physical_devices",
    "local_devices",
    "parse_specification",
    "resolve_device",
    "simulate_devices",
    "simulate_from_environment",
    "simulated_kind",
]
