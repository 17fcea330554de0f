"""Who takes part: devices, simulated devices and resolvers.

Layer: above `stratax.core`, below `stratax.data`.
"""

from stratax.cluster._cluster_resolver import ClusterResolver, SimpleClusterResolver
from stratax.cluster._cluster_spec import ClusterSpec
from stratax.cluster._connection import experimental_connect_to_cluster
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
from stratax.cluster._kubernetes import KubernetesClusterResolver
from stratax.cluster._resolvers import (
    Topology,
    TPUClusterResolver,
    TPUSystemMetadata,
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
from stratax.cluster._slurm import SlurmClusterResolver
from stratax.cluster._tf_config import TFConfig, check_jobs, parse_tf_config
from stratax.cluster._tf_config_resolver import TFConfigClusterResolver

__all__ = [
    "ClusterResolver",
    "ClusterSpec",
    "KubernetesClusterResolver",
    "LogicalDevice",
    "PhysicalDevice",
    "SimpleClusterResolver",
    "SimulatedDevices",
    "SlurmClusterResolver",
    "TFConfig",
    "TFConfigClusterResolver",
    "TPUClusterResolver",
    "TPUSystemMetadata",
    "Topology",
    "check_jobs",
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
    "parse_tf_config",
    "resolve_device",
    "shutdown_tpu_system",
    "simulate_devices",
    "simulate_from_environment",
    "simulated_kind",
]
