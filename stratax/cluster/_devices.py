"""Which devices there are, what they are called, and how a name becomes a JAX device (cluster layer).

TensorFlow's names are kept: `/device:GPU:0` for a device of this host, and
`/job:worker/replica:0/task:0/device:TPU:7` for a TPU core, which in TensorFlow belongs to a TPU worker.
"""

import contextlib
import dataclasses
import logging
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import jax

from stratax.base.shown import shown
from stratax.cluster._physical import find_known_count
from stratax.cluster._simulate import KINDS, simulated_kind
from stratax.errors import BadTypeError, DeviceError

# What `tf.tpu.core(0)` is called: the core that a replica runs on.
CORE_OF_REPLICA = "device:TPU_REPLICATED_CORE:0"

_logger = logging.getLogger("stratax")


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
        for kind in _find_asked_kinds(device_type)
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
        for kind in _find_asked_kinds(device_type)
        for index in range(_count_physical(kind))
    ]


def _count_physical(kind: str) -> int:
    known = find_known_count(kind)
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
    """Find the JAX device that a name means. `placed_devices` finds others where one does not exist.

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
        raise _missing(device)
    return found


def placed_devices(
    devices: Sequence[str | LogicalDevice | PhysicalDevice | jax.Device],
) -> list[jax.Device]:
    """Find the JAX devices that names mean, and others where some don't exist, with a warning.

    Devices that don't exist are left out. If none exists, this process's first ones take their places: accelerators
    where there are any.

    Args:
        devices: What `resolve_device` takes, several times.

    Returns:
        At least one device if one is named, and not more than are named.

    Raises:
        BadTypeError: If one is no device or name.
        DeviceError: If what should be a name is none, or a device does not exist after
            `set_soft_device_placement(False)`.
    """
    found = [_find(device) for device in devices]
    missing = [device for device, each in zip(devices, found, strict=True) if each is None]
    existing = [each for each in found if each is not None]
    if not missing:
        return existing
    placed = existing or jax.local_devices()[: len(devices)]
    _report_missing(missing, placed)
    return placed


def _report_missing(missing: Sequence[object], placed: list[jax.Device]) -> None:
    """Warn once of devices that are asked for and don't exist; raise where the program wants that."""
    if not _placement.soft:
        raise _missing(missing[0])
    message = (
        f"Some requested devices are not visible: {', '.join(map(_name_of, missing))}. What was to run there runs on "
        f"{', '.join(map(device_name, placed))}. {_what_exists()}"
    )
    if message not in _placement.reported:
        _placement.reported.add(message)
        _logger.warning("%s", message)


def _missing(device: object) -> DeviceError:
    return DeviceError(
        f"This process has no such device. Received: device={shown(_name_of(device))}. {_what_exists()}"
    )


def _name_of(device: Any) -> str:
    return device.name if isinstance(device, LogicalDevice | PhysicalDevice) else str(device)


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
    soft: bool = True
    reported: set[str] = dataclasses.field(default_factory=set)


_placement = _Placement()


def set_soft_device_placement(enabled: bool) -> None:
    """Say whether `device` and strategies compute where they can if a device does not exist.

    Follows ``tf.config.set_soft_device_placement``.

    Args:
        enabled: Whether they do, with a warning, as at first. False: a device that does not exist is an error.
    """
    _placement.soft = bool(enabled)


def get_soft_device_placement() -> bool:
    """Return whether `device` and strategies compute elsewhere if a device does not exist, as at first."""
    return _placement.soft


@contextlib.contextmanager
def device(device_name: str | LogicalDevice | PhysicalDevice | jax.Device | None) -> Iterator[None]:
    """Compute on one device inside the block, as ``with tf.device(...)``.

    New arrays and variables are placed there. An array that was placed elsewhere on purpose stays where it is,
    and what is computed from it runs there.

    Args:
        device_name: What `resolve_device` takes; None for where it would be computed without an enclosing block. If
            this process has no such device, it is computed on its first one, with a warning.

    Yields:
        Nothing.

    Raises:
        BadTypeError: If `device_name` is not a device or name.
        DeviceError: If what should be a name is none, or there is no such device after
            `set_soft_device_placement(False)`.

    Example:
        >>> with device("/CPU:0"):
        ...     total = jax.numpy.add(1, 2)
    """
    if device_name == CORE_OF_REPLICA:
        # It runs there.
        yield
        return
    place = None if device_name is None else placed_devices([device_name])[0]
    with jax.default_device(place):
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


def _find_asked_kinds(device_type: object) -> tuple[str, ...]:
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
