"""Which devices there are, what they are called, and how a name becomes a JAX device (cluster layer).

TensorFlow's names are kept: `/device:GPU:0` for a device of this host, and
`/job:worker/replica:0/task:0/device:TPU:7` for a TPU core, which in TensorFlow belongs to a TPU worker.
"""

import contextlib
import dataclasses
import re
from collections.abc import Iterator
from typing import NamedTuple

import jax

from stratax._shown import shown
from stratax.cluster._physical import known_count
from stratax.cluster._simulate import KINDS, simulated_kind
from stratax.errors import BadTypeError, DeviceError

# What `tf.tpu.core(0)` is called: the core that a replica runs on.
CORE_OF_REPLICA = "device:TPU_REPLICATED_CORE:0"


class LogicalDevice(NamedTuple):
    """A device that a program can place work on, as ``tf.config.LogicalDevice``.

    Attributes:
        name: Its full name, which `device` and every strategy take.
        device_type: ``"CPU"``, ``"GPU"`` or ``"TPU"``.
    """

    name: str
    device_type: str


class PhysicalDevice(NamedTuple):
    """A device of this host, as ``tf.config.PhysicalDevice``.

    Attributes:
        name: Its name, for example ``/physical_device:GPU:0``.
        device_type: ``"CPU"``, ``"GPU"`` or ``"TPU"``.
    """

    name: str
    device_type: str


_NAME = re.compile(
    r"(?:/job:(?P<job>[A-Za-z_]\w*))?(?:/replica:(?P<replica>\d+))?(?:/task:(?P<task>\d+))?"
    r"/?(?:(?:physical_)?device:)?(?P<kind>[A-Za-z]+)(?::(?P<index>\d+))?"
)


def list_logical_devices(device_type: str | None = None) -> list[LogicalDevice]:
    """List the devices that this process can place work on; start JAX if it has not started.

    Args:
        device_type: Only those of this kind: ``"CPU"``, ``"GPU"`` or ``"TPU"``; None: all.

    Returns:
        The devices, CPUs first, ordered by their number. Where the host's CPU simulates GPUs or TPU cores,
        these and one CPU.

    Raises:
        DeviceError: If `device_type` is not a kind of device.

    Example:
        >>> list_logical_devices("TPU")[:1]  # doctest: +SKIP
        [LogicalDevice(name='/job:worker/replica:0/task:0/device:TPU:0', device_type='TPU')]
    """
    return [
        LogicalDevice(_logical_name(kind, index, device.process_index), kind)
        for kind in _asked_kinds(device_type)
        for index, device in enumerate(local_devices(kind))
    ]


def list_physical_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """List this host's devices under TensorFlow's physical names.

    Settings of devices are made before JAX starts, so it is started only where nothing else knows the devices: for TPUs
    and GPUs that are not NVIDIA's.

    Args:
        device_type: Only those of this kind: ``"CPU"``, ``"GPU"`` or ``"TPU"``; None: all.

    Returns:
        The devices, also those that `tf.config.set_visible_devices` hides. Each is one logical device, unless
        `tf.config.set_logical_device_configuration` has said otherwise.

    Raises:
        DeviceError: If `device_type` is not a kind of device.
    """
    return [
        PhysicalDevice(f"/physical_device:{kind}:{index}", kind)
        for kind in _asked_kinds(device_type)
        for index in range(_count_physical(kind))
    ]


def _count_physical(kind: str) -> int:
    known = known_count(kind)
    return len(local_devices(kind)) if known is None else known


def local_devices(kind: str) -> list[jax.Device]:
    """Return this process's JAX devices of a kind, real or simulated; start JAX if it has not started.

    Args:
        kind: ``"CPU"``, ``"GPU"`` or ``"TPU"``.

    Returns:
        The devices ordered by number; none where there are none.
    """
    simulated = simulated_kind()
    if simulated is None:
        # JAX's names of platforms are the kinds in small letters.
        return _platform_devices(kind.lower())
    host = _platform_devices("cpu")
    if kind == simulated:
        return host
    # Beside simulated accelerators the program still sees one CPU, as on a real host.
    return host[:1] if kind == "CPU" else []


def device_kind(device: jax.Device) -> str:
    """Return what a JAX device is presented as: ``"CPU"``, ``"GPU"`` or ``"TPU"``."""
    if device.platform == "cpu":
        return simulated_kind() or "CPU"
    # The platforms of GPUs have several names: gpu, cuda, rocm.
    return "TPU" if device.platform == "tpu" else "GPU"


def device_name(device: jax.Device) -> str:
    """Return TensorFlow's name of a JAX device.

    Args:
        device: A device of this or another process.

    Returns:
        The name, for example ``/device:GPU:0`` or ``/job:worker/replica:0/task:0/device:TPU:7``.
    """
    # TensorFlow numbers the devices of each task from 0; JAX's ids go on over all processes.
    peers = [peer for peer in jax.devices(device.platform) if peer.process_index == device.process_index]
    return _logical_name(device_kind(device), peers.index(device), device.process_index)


def resolve_device(device: str | LogicalDevice | PhysicalDevice | jax.Device) -> jax.Device:
    """Find the JAX device that a name means.

    TensorFlow only warns of a device that does not exist and then runs elsewhere; this raises.

    Args:
        device: A name in any of TensorFlow's spellings (``"/gpu:0"``, ``"GPU:0"``, ``"/TPU:0"``, ``"cpu"``,
            ``"/job:localhost/replica:0/task:0/device:GPU:1"``; without a number it is device 0), an entry of
            `list_logical_devices` or `list_physical_devices`, or a JAX device, which is returned as it is.

    Returns:
        The device.

    Raises:
        BadTypeError: If `device` is none of these.
        DeviceError: If this process has no such device; the message lists those that exist.
    """
    found = _find(device)
    if found is None:
        name = device.name if isinstance(device, LogicalDevice | PhysicalDevice) else device
        raise DeviceError(
            f"This process has no such device. Received: device={shown(name)}. {_what_exists()}"
        )
    return found


def _find(device: str | LogicalDevice | PhysicalDevice | jax.Device) -> jax.Device | None:
    """Return the device that a name means, None if it does not exist; refuse what is no name of one."""
    if isinstance(device, jax.Device):
        return device
    name = device.name if isinstance(device, LogicalDevice | PhysicalDevice) else device
    if not isinstance(name, str):
        raise BadTypeError(
            "A device must be given by its name, as an entry of list_logical_devices() or as a JAX device. "
            f"Received: device={shown(device)}."
        )
    # The whole name: a typing error at its end must not be ignored.
    match = _NAME.fullmatch(name.strip())
    kind = match["kind"].upper() if match else ""
    if match is None or kind not in KINDS:
        raise DeviceError(
            "A device's name must be like '/gpu:0', 'TPU:3' or '/job:worker/replica:0/task:0/device:TPU:7'. "
            f"Received: device={shown(name)}. {_what_exists()}"
        )
    found = local_devices(kind)
    index = int(match["index"] or 0)
    # TensorFlow's names of local devices have no job, or "localhost"; a task then means nothing.
    task = int(match["task"] or 0) if match["job"] not in (None, "localhost") else None
    if index >= len(found) or (task is not None and task != found[index].process_index):
        return None
    return found[index]


@dataclasses.dataclass(slots=True)
class _Placement:
    soft: bool = False


_placement = _Placement()


def set_soft_device_placement(enabled: bool) -> None:
    """Have `device` compute where it can if a device does not exist, as ``tf.config.set_soft_device_placement``.

    Args:
        enabled: Whether to. In TensorFlow it is so by itself; here a device that does not exist is an error until
            this is called.
    """
    _placement.soft = bool(enabled)


def get_soft_device_placement() -> bool:
    """Return whether `device` computes elsewhere if a device does not exist."""
    return _placement.soft


@contextlib.contextmanager
def device(device_name: str | LogicalDevice | PhysicalDevice | jax.Device) -> Iterator[None]:
    """Compute on one device inside the block, as ``with tf.device(...)``.

    New arrays and variables are placed there. An array that was placed elsewhere on purpose stays where it is,
    and what is computed from it runs there.

    Args:
        device_name: What `resolve_device` takes.

    Yields:
        Nothing.

    Raises:
        BadTypeError: If `device_name` is not a device or name.
        DeviceError: If this process has no such device, unless `set_soft_device_placement` allows that.

    Example:
        >>> with device("/CPU:0"):
        ...     total = jax.numpy.add(1, 2)
    """
    if device_name == CORE_OF_REPLICA:
        # It runs there.
        yield
        return
    if _placement.soft and _find(device_name) is None:
        # As in TensorFlow: where it would have computed without being told.
        yield
        return
    with jax.default_device(resolve_device(device_name)):
        yield


def _platform_devices(platform: str) -> list[jax.Device]:
    try:
        found = jax.local_devices(backend=platform)
    except RuntimeError:
        # How JAX says that it has no such platform here.
        return []
    # By id, which is the same in every process; JAX does not promise an order.
    return sorted(found, key=lambda found_device: found_device.id)


def _logical_name(kind: str, index: int, task: int) -> str:
    # As TensorFlow names them: the cores of a TPU belong to a worker, other devices to this process.
    prefix = f"/job:worker/replica:0/task:{task}" if kind == "TPU" else ""
    return f"{prefix}/device:{kind}:{index}"


def _asked_kinds(device_type: object) -> tuple[str, ...]:
    if device_type is None:
        return KINDS
    if not isinstance(device_type, str) or device_type.upper() not in KINDS:
        raise DeviceError(
            f"The kind of device must be one of {', '.join(KINDS)}, or None for all. "
            f"Received: device_type={shown(device_type)}."
        )
    return (device_type.upper(),)


def _what_exists() -> str:
    names = ", ".join(repr(found.name) for found in list_logical_devices())
    return f"Devices of this process: {names}."
