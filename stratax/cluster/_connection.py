"""Connecting this process to its cluster, once (cluster layer)."""

import asyncio
import concurrent.futures
import contextlib
import dataclasses
import logging
import numbers
import secrets
import threading
import time
from collections.abc import Coroutine
from typing import Any, TypeVar

from stratax.base.shown import shown
from stratax.cluster import _hooks, _jax_runtime
from stratax.cluster._cluster import Cluster
from stratax.cluster._cluster_checks import check_cluster, check_place
from stratax.cluster._cluster_resolver import ClusterResolver, SimpleClusterResolver, check_resolver
from stratax.cluster._cluster_spec import ClusterSpec
from stratax.cluster._coordinator import Coordinator
from stratax.cluster._link import Link
from stratax.cluster._membership import SYNCHRONOUS_JOBS, Membership, host_and_port, make_membership
from stratax.cluster._phases import progress
from stratax.cluster._reachability import check_reachable
from stratax.cluster._secret import SECRET_FILE_VARIABLE, SECRET_VARIABLE
from stratax.cluster._sockets import socket_path
from stratax.cluster._start import start_seconds
from stratax.cluster._tf_config import naming_tf_config
from stratax.cluster._tf_config_resolver import TFConfigClusterResolver
from stratax.cluster._watchdog import Limits
from stratax.errors import BadArgumentError, BadTypeError, ClusterError

# Between attempts to listen at an address, in seconds; doubled each time.
_FIRST_PAUSE = 0.1
_LONGEST_PAUSE = 1.0
# How long the address may be in use by a job that is just ending, in seconds.
_PORT_SECONDS = 30.0
_logger = logging.getLogger("stratax")
_Result = TypeVar("_Result")


@dataclasses.dataclass(slots=True)
class _State:
    cluster: Cluster | None = None
    coordinator: Coordinator | None = None
    loop: asyncio.AbstractEventLoop | None = None
    has_warned: bool = False
    lock: threading.Lock = dataclasses.field(default_factory=threading.Lock)


_state = _State()


def current() -> Cluster | None:
    """Return the cluster that this process is connected to; None before `connect`."""
    return _state.cluster


def connect(
    resolver: ClusterResolver,
    *,
    timeout: float | None = None,
    step_timeout: float = Limits().step,
    silence_timeout: float = Limits().silence,
) -> Cluster:
    """Connect this process to the others of its cluster, once in a program.

    Every task of the jobs `chief` and `worker` calls it, before JAX starts; it returns when all have. The tasks may
    start in any order and far apart: it tries again until the deadline, and reports every 10 seconds who is missing.
    The tasks meet at the address of the chief (or of worker 0 without one), the only one that is listened on.
    Where this process is alone, or an evaluator or parameter server, it starts nothing.

    From then on the tasks watch one another, see `Cluster`: when one dies, raises, leaves in mid-training or stands
    still, the others get a `PeerLostError`, or end with an `ExitCode` if they can't be reached by an exception.

    Args:
        resolver: Says which cluster, and which task of it this process is.
        timeout: How long to wait until all tasks have joined, in seconds; None for the environment variable
            ``STRATAX_START_TIMEOUT``, or an hour without it, as in TensorFlow.
        step_timeout: How long a step may take while another task stands still, in seconds; the chief's counts.
        silence_timeout: After how many seconds without a heartbeat a task is given up.

    Returns:
        The cluster. A second call for the same cluster returns the same.

    Raises:
        BadTypeError: If `resolver` is no resolver, or a time no number.
        BadArgumentError: If a time is not positive.
        ClusterError: If the cluster is wrong, another one than before or than another task's, its address is taken or
            can't be reached from the others' machines, or JAX has started already.
        ClusterTimeoutError: If tasks are missing at the deadline; `tasks` and the message name them.

    Example:
        >>> cluster = connect(TFConfigClusterResolver())
        >>> cluster.num_processes, cluster.task_name()
        (1, '/job:worker/task:0')
    """
    check_resolver(resolver, "resolver")
    timeout = start_seconds() if timeout is None else timeout
    limits = _limits(timeout, step_timeout, silence_timeout)
    if isinstance(resolver, TFConfigClusterResolver) and resolver.has_changed:
        raise ClusterError(
            "TF_CONFIG was changed after the resolver had read it. Set it before the program starts, or make the "
            f"resolver after it is set. Received: resolver.cluster_spec()={shown(resolver.cluster_spec())}."
        )
    # Strategies connect by themselves, so that several threads may come here at once.
    with _state.lock:
        wanted = _identity(resolver)
        connected = _state.cluster
        # A process that is alone has not started anything, and may still join a cluster.
        if connected is not None and (connected.num_processes > 1 or wanted == _identity_of(connected)):
            return _same(connected, wanted)
        _state.cluster = _connect(resolver, *wanted, timeout=timeout, limits=limits)
        return _state.cluster


def check_connectable(resolver: ClusterResolver) -> None:
    """Check what a resolver says, which nothing has looked at yet, before anything is started.

    Args:
        resolver: The resolver. One that is given its answers need not say which task this process is.

    Raises:
        ClusterError: If a job, an address or the task can't be right; the message names the field.
    """
    cluster, task_type, task_id = _identity(resolver)
    is_tf_config = isinstance(resolver, TFConfigClusterResolver)
    with naming_tf_config() if is_tf_config else contextlib.nullcontext():
        if is_tf_config or (task_type is not None and cluster):
            check_place(cluster, task_type, task_id)
        check_cluster(cluster)


def experimental_connect_to_cluster(
    cluster_spec_or_resolver: ClusterResolver | ClusterSpec,
    job_name: str = "localhost",
    task_index: int = 0,
    protocol: str | None = None,
    make_master_device_default: bool = True,
    cluster_device_filters: object = None,
) -> None:
    """Connect to the cluster that a resolver found, as ``tf.config.experimental_connect_to_cluster``.

    Every task calls it, also those that only wait for work in TensorFlow. A TPU's devices are in this process, so
    with a TPU of one host there is nothing to connect.

    Args:
        cluster_spec_or_resolver: A `ClusterResolver`, which also says which task this is, or a `ClusterSpec`.
        job_name: This process's job, where a `ClusterSpec` is given.
        task_index: Its number in the job, where a `ClusterSpec` is given.
        protocol: For TensorFlow's signature; not used.
        make_master_device_default: For TensorFlow's signature; not used: every task computes on its own devices.
        cluster_device_filters: Must be None: there are no remote devices to hide.

    Raises:
        BadTypeError: If it is neither.
        BadArgumentError: If `cluster_device_filters` is given.
        ClusterError: As `connect`.
        ClusterTimeoutError: As `connect`.
    """
    if cluster_device_filters is not None:
        raise BadArgumentError(
            "cluster_device_filters has no meaning here: a task sees its own devices only. Leave it out. "
            f"Received: cluster_device_filters={shown(cluster_device_filters)}."
        )
    resolver = cluster_spec_or_resolver
    if isinstance(resolver, ClusterSpec):
        resolver = SimpleClusterResolver(resolver, task_type=job_name, task_id=task_index)
    if not isinstance(resolver, ClusterResolver):
        raise BadTypeError(
            "cluster_spec_or_resolver must be a ClusterResolver or a ClusterSpec. "
            f"Received: cluster_spec_or_resolver={shown(resolver)}."
        )
    if resolver.cluster_spec():
        connect(resolver)


def _limits(timeout: float, step_timeout: float, silence_timeout: float) -> Limits:
    times = {"timeout": timeout, "step_timeout": step_timeout, "silence_timeout": silence_timeout}
    for name, value in times.items():
        if isinstance(value, bool) or not isinstance(value, numbers.Real):
            raise BadTypeError(f"{name} must be a number of seconds. Received: {name}={shown(value)}.")
        if not value > 0:
            raise BadArgumentError(f"{name} must be positive. Received: {name}={shown(value)}.")
    # Whoever allows a longer silence in a step allows it elsewhere, too.
    patient = max(Limits().patient_silence, silence_timeout)
    return Limits(step=step_timeout, silence=silence_timeout, patient_silence=patient)


def _identity(resolver: ClusterResolver) -> tuple[ClusterSpec, str | None, int | None]:
    return resolver.cluster_spec(), resolver.task_type, resolver.task_id


def _identity_of(cluster: Cluster) -> tuple[ClusterSpec, str | None, int | None]:
    return cluster.cluster_spec, cluster.task_type, cluster.task_id


def _same(connected: Cluster, wanted: tuple[ClusterSpec, str | None, int | None]) -> Cluster:
    if wanted != _identity_of(connected):
        raise ClusterError(
            "This process is connected to another cluster already; a program has one. "
            f"Received: {shown(wanted[0])} as {shown(wanted[1])} {shown(wanted[2])}; "
            f"connected to {shown(connected.cluster_spec)} as {connected.task_name()}."
        )
    return connected


def _connect(
    resolver: ClusterResolver,
    cluster_spec: ClusterSpec,
    task_type: str | None,
    task_id: int | None,
    *,
    timeout: float,
    limits: Limits,
) -> Cluster:
    check_connectable(resolver)
    if not cluster_spec:
        return Cluster(cluster_spec, task_type, task_id)
    if task_type is None or task_id is None:
        raise ClusterError(
            "The resolver does not say which task of the cluster this process is. "
            f"Received: task_type={shown(task_type)}, task_id={shown(task_id)}, cluster_spec={shown(cluster_spec)}."
        )
    if task_type not in SYNCHRONOUS_JOBS:
        return Cluster(cluster_spec, task_type, task_id)
    membership = make_membership(cluster_spec, task_type, task_id)
    if len(membership.names) == 1:
        return Cluster(cluster_spec, task_type, task_id)
    return _join(Cluster(cluster_spec, task_type, task_id, membership), membership, timeout, limits)


def _join(cluster: Cluster, membership: Membership, timeout: float, limits: Limits) -> Cluster:
    # All checks come before the first connection: a task that fails them disturbs nobody.
    _jax_runtime.check_can_start()
    _hooks.install(cluster)
    check_reachable(membership)
    _warn_of_strangers(membership)
    # This thread's phases are what the others see of this task.
    progress.thread = threading.get_ident()
    deadline = time.monotonic() + timeout
    # One loop for all attempts to connect in a program.
    _state.loop = _state.loop or _start_loop()
    link, path = _run(_state.loop, _meet(cluster, membership, limits, deadline))
    host = host_and_port(membership.addresses[membership.index])[0]
    # JAX has what is left of the time, and at least a little: all tasks have come by now.
    remaining = max(deadline - time.monotonic(), _LONGEST_PAUSE)
    _jax_runtime.start(
        path, index=membership.index, count=len(membership.names), host=host, timeout=remaining
    )
    # Last, so that phases are watched only once JAX has started.
    cluster.attach(link)
    _logger.info("%s: all %d tasks joined.", membership.name, len(membership.names))
    return cluster


def _warn_of_strangers(membership: Membership) -> None:
    if membership.index == 0 and not membership.credentials.source and not _state.has_warned:
        _state.has_warned = True
        _logger.warning(
            "This cluster has no secret: whoever reaches %s and knows or guesses TF_CONFIG can join it. Give all tasks "
            "the same %s, or %s; `stratax launch` and `stratax manifest` do.",
            membership.addresses[0],
            SECRET_VARIABLE,
            SECRET_FILE_VARIABLE,
        )


async def _meet(
    cluster: Cluster, membership: Membership, limits: Limits, deadline: float
) -> tuple[Link, str]:
    # JAX's service listens at a local socket of process 0; the others reach it through a relay.
    path = socket_path("service")
    if membership.index == 0:
        _state.coordinator = Coordinator(membership, limits, secrets.token_hex(16), path)
        await _listen(_state.coordinator, membership, deadline)
    link = Link(membership, limits, cluster.on_failure)
    try:
        await link.join(deadline)
    # Ctrl-C and cancellation, too: what listens or connects must not outlive the attempt.
    except BaseException:
        await link.close()
        if _state.coordinator is not None:
            await _state.coordinator.close()
        raise
    return link, path if membership.index == 0 else await link.open_relay()


async def _listen(coordinator: Coordinator, membership: Membership, deadline: float) -> None:
    """Take the address; a job that has just ended may hold it for some seconds yet."""
    limit = min(deadline, time.monotonic() + _PORT_SECONDS)
    pause = _FIRST_PAUSE
    while True:
        try:
            return await coordinator.start(*membership.coordinator_address)
        except OSError as error:
            if time.monotonic() + pause > limit:
                raise _no_address(membership, error) from error
            _logger.warning("%s can't be listened on yet (%s); trying again.", membership.addresses[0], error)
        await asyncio.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)


def _no_address(membership: Membership, error: OSError) -> ClusterError:
    return ClusterError(
        f"{membership.name} can't listen on its address ({error}). Another job or program uses it, or it is not an "
        f"address of this machine. Give the job another port. Received: {shown(membership.addresses[0])}."
    )


def _start_loop() -> asyncio.AbstractEventLoop:
    """Start an event loop in a thread of its own, which lives as long as the process."""
    loop = asyncio.new_event_loop()
    # A daemon: the program's end does not wait for it. A thread, so that heartbeats go on in long calls.
    threading.Thread(target=loop.run_forever, name="stratax-cluster", daemon=True).start()
    return loop


def _run(loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, _Result]) -> _Result:
    future = asyncio.run_coroutine_threadsafe(work, loop)
    try:
        return future.result()
    except (KeyboardInterrupt, concurrent.futures.CancelledError):
        # The work goes on in the loop's thread otherwise, and joins a cluster that nobody waits for.
        future.cancel()
        raise
