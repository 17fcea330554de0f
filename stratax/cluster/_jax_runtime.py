"""Starting JAX as one of several processes (cluster layer). The only file that knows how JAX does it."""

import ctypes
import functools
import urllib.parse
from typing import Any

import jax

from stratax.base.shown import shown
from stratax.errors import ClusterError
from stratax.seams.jax import distributed, make_gloo_tcp_collectives, xla_bridge

# Seconds of silence after which JAX itself ends a process: our own watch is earlier, and says who it was.
_NEVER = 7 * 24 * 3600

# How long JAX's shutdown barrier may hold up a process; Stratax's own farewell comes before it.
_SHUTDOWN_SECONDS = 5


def check_can_start() -> None:
    """Check that JAX can still be told that it is one of several processes.

    Raises:
        ClusterError: If it has started already, or was connected by somebody else.
    """
    if jax.distributed.is_initialized():
        raise ClusterError(
            "JAX was connected to a cluster already, by jax.distributed.initialize(). Leave that call out: Stratax "
            f"connects. Received: process {jax.process_index()} of {jax.process_count()}."
        )
    if xla_bridge.backends_are_initialized():
        raise ClusterError(
            "JAX has started already, so this process can't join a cluster any more. Connect first: make the strategy, "
            "or call experimental_connect_to_cluster, before anything that computes or asks for devices. "
            f"Received: devices={shown(jax.local_devices())}."
        )


def start(socket_path: str, *, index: int, count: int, host: str, timeout: float) -> None:
    """Make JAX one of several processes.

    Args:
        socket_path: The local socket of JAX' service: process 0 listens on it, the others reach it there.
        index: This process's number.
        count: How many there are.
        host: The host of this task's address: the only one at which collectives between CPUs listen.
        timeout: How long the others may take, in seconds.
    """
    # It would take SIGTERM away from the program, which then could be ended by SIGKILL only.
    jax.config.update("jax_enable_preemption_service", False)
    # A proxy in the environment has no effect on a local socket, so the warning of it would mislead.
    jax.config.update("jax_check_proxy_envs", False)
    # gRPC takes it for a URI.
    address = f"unix:{urllib.parse.quote(socket_path)}"
    jax.distributed.initialize(
        address,
        count,
        index,
        cluster_detection_method="deactivate",
        initialization_timeout=max(int(timeout), 1),
        heartbeat_timeout_seconds=_NEVER,
        shutdown_timeout_seconds=_SHUTDOWN_SECONDS,
        coordinator_bind_address=address,
    )
    # Other implementations (MPI) find their addresses themselves.
    if jax.config.values["jax_cpu_collectives_implementation"] == "gloo":
        _listen_at(host)


def let_go() -> None:
    """Make JAX forget the others, so that this process can end without waiting for them."""
    state = distributed.global_state
    for handle in (state.client, state.service):
        # Never taken down, not even with the interpreter: that would end the others' processes, or wait for them.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(handle))
    state.client = state.service = None


def _listen_at(host: str) -> None:
    """Let collectives between CPUs listen at one address, where JAX would take the one of the machine's name."""
    client = distributed.global_state.client
    make = functools.partial(_make_cpu_client, client, host)
    # JAX's own factory takes the address of the machine's name, which may be a loopback address.
    xla_bridge.register_backend_factory("cpu", make, priority=0, fail_quietly=False)


def _make_cpu_client(client: object, host: str) -> Any:
    collectives = make_gloo_tcp_collectives(distributed_client=client, hostname=host)
    return xla_bridge.make_cpu_client(collectives=collectives)
