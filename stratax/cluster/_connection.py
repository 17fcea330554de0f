"""Connecting this process to its cluster (cluster layer)."""

from typing import Any

from stratax.cluster._cluster_resolver import ClusterResolver, check_resolver


def connect(resolver: ClusterResolver, *, timeout: float = 300.0) -> Any:
    """Connects this process to its cluster."""
    check_resolver(resolver, "resolver")
    raise NotImplementedError


def experimental_connect_to_cluster(
    cluster_spec_or_resolver: ClusterResolver, job_name: str = "localhost"
) -> None:
    """Connects to the cluster that a resolver found."""
    check_resolver(cluster_spec_or_resolver, "cluster_spec_or_resolver")
