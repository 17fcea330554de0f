"""The TPU: its resolver, and the calls that every TPU program makes (cluster layer)."""

import dataclasses
from typing import Self

import jax

from stratax.base.shown import shown
from stratax.cluster._cluster_resolver import ClusterResolver
from stratax.cluster._cluster_spec import ClusterSpec
from stratax.cluster._connection import connect, current, experimental_connect_to_cluster
from stratax.cluster._devices import device_name, list_logical_devices, local_devices
from stratax.cluster._simulate import ENVIRONMENT_VARIABLE
from stratax.cluster._tpu_pod import pod_cluster
from stratax.errors import BadArgumentError, BadTypeError, ClusterError, NoTPUError

# The values of `tpu` that mean the TPU of this host, as in TensorFlow.
LOCAL_ADDRESSES = ("", "local", "localhost")


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class TPUSystemMetadata:
    """What a TPU system consists of, as TensorFlow's `TPUSystemMetadata`.

    Attributes:
        num_cores: All cores, of all hosts.
        num_hosts: The hosts: the processes of the program.
        num_of_cores_per_host: The cores of one host.
        topology: What `initialize_tpu_system` returned, or None.
        devices: The names of this process's devices.
    """

    num_cores: int
    num_hosts: int
    num_of_cores_per_host: int
    topology: "Topology | None" = None
    devices: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Topology:
    """How a TPU's cores are arranged, as ``tf.tpu.experimental.Topology``.

    Attributes:
        mesh_shape: The chips along x, y and z, and the cores of one chip.
        device_coordinates: For every core its x, y, z and number within the chip.
        device_names: Every core's name, in the same order.
    """

    mesh_shape: tuple[int, int, int, int]
    device_coordinates: tuple[tuple[int, int, int, int], ...]
    device_names: tuple[str, ...]

    @property
    def num_tasks(self) -> int:
        """The number of hosts."""
        return len({name.partition("/device:")[0] for name in self.device_names})

    @property
    def num_tpus_per_task(self) -> int:
        """The number of cores of one host."""
        return len(self.device_names) // self.num_tasks

    @property
    def num_accelerators(self) -> dict[str, int]:
        """The cores of all hosts, as ``{"TPU": 8}``."""
        return {"TPU": len(self.device_names)}


class TPUClusterResolver(ClusterResolver):
    """Finds the TPU of this host, or the simulated one, as ``tf.distribute.cluster_resolver.TPUClusterResolver``.

    A program that is to run on a TPU runs on the TPU's own host (a "TPU VM"): there is no remote worker to
    connect to, so `tpu` is empty, ``"local"`` or a name given for the record. Programs find out with the
    `ValueError` whether there is a TPU and fall back to another strategy if not. Starts JAX.

    On a pod, where a TPU has several hosts, the same program is started on each; the resolver reads them from the
    TPU's environment (``TPU_WORKER_HOSTNAMES``, ``TPU_WORKER_ID``), or from a TPU VM's metadata, and connects them
    before JAX starts.

    Args:
        tpu: None, ``""``, ``"local"`` or the name of the TPU that this host belongs to.
        zone: For the record: not needed on the TPU's own host.
        project: For the record: not needed on the TPU's own host.
        job_name: The job of the TPU's hosts, part of the device names.
        coordinator_name: Must be None: there is no separate coordinator.
        coordinator_address: Must be None: there is no separate coordinator.
        credentials: ``"default"``; not used.
        service: Must be None; not used.
        discovery_url: Must be None; not used.

    Raises:
        BadTypeError: If `tpu` is not a string or None.
        BadArgumentError: If `tpu` is the address of a remote worker, or an unused argument is given.
        ClusterError: If the pod's hosts are known but not which of them this is, or if there are several slices.
        ClusterTimeoutError: If hosts of the pod do not join in time.
        NoTPUError: If there is no TPU, neither a real nor a simulated one; it is a `ValueError`.

    Example:
        >>> try:
        ...     resolver = TPUClusterResolver()
        ... except ValueError:
        ...     resolver = None
    """

    def __init__(
        self,
        tpu: str | None = None,
        zone: str | None = None,
        project: str | None = None,
        job_name: str = "worker",
        coordinator_name: str | None = None,
        coordinator_address: str | None = None,
        credentials: str = "default",
        service: object = None,
        discovery_url: str | None = None,
    ) -> None:
        _check_address(tpu)
        unused = {
            "coordinator_name": coordinator_name,
            "coordinator_address": coordinator_address,
            "service": service,
            "discovery_url": discovery_url,
        }
        for name, value in unused.items():
            if value is not None:
                raise BadArgumentError(
                    f"{name} has no meaning here: the program runs on the TPU's own host. Leave it out. "
                    f"Received: {name}={shown(value)}."
                )
        self._job_name = self.task_type = job_name
        # Empty on a single host, which connects to nobody.
        self._cluster, self.task_id = pod_cluster(job_name)
        if self._cluster:
            connect(self)
        # Behind `connect`: asking for devices starts JAX, which then can't be told of other processes.
        self._devices = _tpu_devices()
        if not self._cluster:
            _check_not_joined_by_others()
            self.task_id = jax.process_index()
        self._tpu = tpu or ""
        self._zone = zone
        self._project = project

    @staticmethod
    def connect(
        tpu: str | None = None, zone: str | None = None, project: str | None = None
    ) -> "TPUClusterResolver":
        """Find the TPU and make it ready in one call.

        Args:
            tpu: As for the constructor.
            zone: As for the constructor.
            project: As for the constructor.

        Returns:
            The resolver.

        Raises:
            NoTPUError: If there is no TPU.
        """
        resolver = TPUClusterResolver(tpu, zone, project)
        experimental_connect_to_cluster(resolver)
        initialize_tpu_system(resolver)
        return resolver

    @property
    def tpu(self) -> str:
        """The name that was given, or an empty string."""
        return self._tpu

    def cluster_spec(self) -> ClusterSpec:
        """Return the hosts of a pod; empty where the TPU has one host."""
        return self._cluster

    def master(
        self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None
    ) -> str:
        """Return an empty string: the TPU is in this process."""
        return ""

    def get_master(self) -> str:
        """Return what :meth:`master` returns, as in TensorFlow."""
        return self.master()

    def get_job_name(self) -> str:
        """Return the job of the TPU's hosts."""
        return self._job_name

    def num_accelerators(
        self, task_type: str | None = None, task_id: int | None = None, config_proto: None = None
    ) -> dict[str, int]:
        """Count the TPU cores of this host, as ``{"TPU": 8}``; see `ClusterResolver`."""
        return {"TPU": len(self._devices)}

    def tpu_devices(self) -> list[jax.Device]:
        """Return this host's TPU cores as JAX devices, in the order of the replicas."""
        return list(self._devices)

    def get_tpu_system_metadata(self) -> TPUSystemMetadata:
        """Return how many cores and hosts the TPU has and what they are called."""
        topology = _topology(self._devices)
        return TPUSystemMetadata(
            num_cores=len(topology.device_names),
            num_hosts=topology.num_tasks,
            num_of_cores_per_host=topology.num_tpus_per_task,
            topology=topology,
            devices=tuple(device.name for device in list_logical_devices()),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None


def experimental_connect_to_host(remote_host: str | None = None, job_name: str = "worker") -> None:
    """Connect to one host, as ``tf.config.experimental_connect_to_host``; only this host is allowed.

    Args:
        remote_host: What `ClusterResolver.master` returned: None, ``""``, ``"local"`` or ``"localhost"``.
        job_name: The host's job, for TensorFlow's signature; not used.

    Raises:
        BadTypeError: If `remote_host` is not a string or None.
        BadArgumentError: If it is another host: programs run on the host that has the devices.
    """
    if remote_host is not None and not isinstance(remote_host, str):
        raise BadTypeError(
            f"remote_host must be a string or None. Received: remote_host={shown(remote_host)}."
        )
    if (remote_host or "") not in LOCAL_ADDRESSES:
        raise BadArgumentError(
            "A program uses the devices of the host that it runs on; it can't connect to another. Start it on "
            f"that host. Received: remote_host={shown(remote_host)}."
        )


def initialize_tpu_system(cluster_resolver: TPUClusterResolver | None = None) -> Topology:
    """Make the TPU ready and return how its cores are arranged, as ``tf.tpu.experimental.initialize_tpu_system``.

    JAX initialises the TPU when it starts. Unlike TensorFlow's, this call may come at any time and as often as
    you like: it clears nothing, and arrays and variables on the TPU stay valid.

    Args:
        cluster_resolver: The resolver; None: a new `TPUClusterResolver`.

    Returns:
        The arrangement of all cores.

    Raises:
        BadTypeError: If `cluster_resolver` is not a `TPUClusterResolver`.
        NoTPUError: If there is no TPU.
    """
    resolver = TPUClusterResolver() if cluster_resolver is None else cluster_resolver
    _check_tpu_resolver(resolver)
    return _topology(resolver.tpu_devices())


def shutdown_tpu_system(cluster_resolver: TPUClusterResolver | None = None) -> None:
    """End the use of the TPU, as ``tf.tpu.experimental.shutdown_tpu_system``.

    Waits for what still runs on this host's cores. The TPU itself is released when the process ends: JAX can't
    give it back before, and arrays on it stay valid.

    Args:
        cluster_resolver: The resolver; None: a new `TPUClusterResolver`.

    Raises:
        BadTypeError: If `cluster_resolver` is not a `TPUClusterResolver`.
        NoTPUError: If there is no TPU.
    """
    resolver = TPUClusterResolver() if cluster_resolver is None else cluster_resolver
    _check_tpu_resolver(resolver)
    for device in resolver.tpu_devices():
        # Work on one device is done in order, so a value placed now is there when all before it is finished.
        jax.device_put(0, device).block_until_ready()


def _tpu_devices() -> list[jax.Device]:
    devices = local_devices("TPU")
    if not devices:
        raise NoTPUError(
            "There is no TPU here, neither a real nor a simulated one. Run on a TPU's host with jax[tpu] "
            "installed, simulate one with stratax.simulate_devices(8, kind='TPU') or "
            f"{ENVIRONMENT_VARIABLE}=tpu:8, or catch this ValueError and use another strategy. "
            f"Received: devices={shown([device.name for device in list_logical_devices()])}."
        )
    return devices


def _topology(local: list[jax.Device]) -> Topology:
    # Of all hosts: the topology is the whole TPU's.
    devices = jax.devices(local[0].platform)
    coordinates = tuple(_coordinates(device, index) for index, device in enumerate(devices))
    # JAX gives coordinates only; the mesh is as large as the largest of them.
    shape = [max(values) + 1 for values in zip(*coordinates, strict=True)]
    return Topology(
        mesh_shape=(shape[0], shape[1], shape[2], shape[3]),
        device_coordinates=coordinates,
        # In the order of JAX's device ids, as the coordinates above.
        device_names=tuple(device_name(device) for device in devices),
    )


def _coordinates(device: jax.Device, index: int) -> tuple[int, int, int, int]:
    if device.platform != "tpu":
        # Simulated: chips of two cores in rows of two, as on a TPU v2 or v3 board.
        chip, core = divmod(index, 2)
        return chip % 2, chip // 2, 0, core
    x, y, z = device.coords
    return x, y, z, device.core_on_chip


def _check_address(tpu: object) -> None:
    if tpu is not None and not isinstance(tpu, str):
        raise BadTypeError(f"tpu must be a string or None. Received: tpu={shown(tpu)}.")
    if tpu and "://" in tpu:
        raise BadArgumentError(
            "A program runs on the TPU's own host, so the TPU can't be given as the address of a remote worker. "
            f"Start the program there and leave tpu out. Received: tpu={shown(tpu)}."
        )


def _check_not_joined_by_others() -> None:
    """Raise a `ClusterError` if JAX found other hosts that are not connected here: they would not be watched."""
    cluster = current()
    if jax.process_count() > 1 and (cluster is None or cluster.num_processes == 1):
        raise ClusterError(
            "The TPU has other hosts, which neither its environment nor its metadata names. Set TPU_WORKER_HOSTNAMES, "
            "which lists them, and TPU_WORKER_ID, the number of this one. "
            f"Received: process {jax.process_index()} of {jax.process_count()}."
        )


def _check_tpu_resolver(resolver: object) -> None:
    if not isinstance(resolver, TPUClusterResolver):
        raise BadTypeError(
            "cluster_resolver must be a TPUClusterResolver, or None for this host's TPU. "
            f"Received: cluster_resolver={shown(resolver)}."
        )
