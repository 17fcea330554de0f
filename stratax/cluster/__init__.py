"""Who takes part: clusters and their resolvers, connecting to one and noticing its failure; devices, real or simulated.

Layer: above `stratax.core`, below `stratax.data`.
"""

from stratax.cluster._cluster import Cluster
from stratax.cluster._cluster_resolver import ClusterResolver, SimpleClusterResolver
from stratax.cluster._cluster_spec import ClusterSpec
from stratax.cluster._connection import connect, current, experimental_connect_to_cluster
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
from stratax.cluster._exit import ExitCode, is_retryable
from stratax.cluster._kubernetes import KubernetesClusterResolver
from stratax.cluster._phases import phase
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
    "Cluster",
    "ClusterResolver",
    "ClusterSpec",
    "ExitCode",
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
    "connect",
    "current",
    "device",
    "device_kind",
    "device_name",
    "experimental_connect_to_cluster",
    "experimental_connect_to_host",
    "initialize_tpu_system",
    "is_retryable",
    "is_simulated",
    "list_logical_devices",
    "list_physical_devices",
    "local_devices",
    "parse_specification",
    "parse_tf_config",
    "phase",
    "resolve_device",
    "shutdown_tpu_system",
    "simulate_devices",
    "simulate_from_environment",
    "simulated_kind",
]
