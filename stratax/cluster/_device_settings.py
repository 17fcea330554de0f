"""Settings of devices that are made before JAX starts, as in `tf.config` (cluster layer)."""

import dataclasses
import os
from collections.abc import Iterable
from typing import Any, NamedTuple

import jax

from stratax.base.shown import shown
from stratax.cluster import _physical
from stratax.cluster._devices import (
    PhysicalDevice,
    device_kind,
    list_physical_devices,
    local_devices,
    resolve_device,
)
from stratax.cluster._simulate import is_simulated, reserve_threads
from stratax.errors import BadArgumentError, FailedPreconditionError

_MEBIBYTE = 2**20


class LogicalDeviceConfiguration(NamedTuple):
    """One of the logical devices that a physical one is to be, as ``tf.config.LogicalDeviceConfiguration``.

    Attributes:
        memory_limit: How much memory it may take, in MiB. For GPUs only, which need it.
        experimental_priority: Has no effect.
        experimental_device_ordinal: Has no effect.
    """

    memory_limit: float | None = None
    experimental_priority: int | None = None
    experimental_device_ordinal: int | None = None


@dataclasses.dataclass(slots=True)
class _Settings:
    visible: dict[str, list[PhysicalDevice]] = dataclasses.field(default_factory=dict)
    growth: dict[PhysicalDevice, bool] = dataclasses.field(default_factory=dict)
    logical: dict[PhysicalDevice, list[LogicalDeviceConfiguration]] = dataclasses.field(default_factory=dict)


_settings = _Settings()


def get_visible_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """List the devices of this host that the program uses, as ``tf.config.get_visible_devices``.

    Args:
        device_type: Only those of this kind; None: all.
    """
    return [
        found
        for found in list_physical_devices(device_type)
        if found in _settings.visible.get(found.device_type, [found])
    ]


def set_visible_devices(
    devices: PhysicalDevice | Iterable[PhysicalDevice], device_type: str | None = None
) -> None:
    """Use only some of this host's devices, as ``tf.config.set_visible_devices``, before JAX starts.

    JAX then takes memory on these only. The host's CPU stays in any case.

    Args:
        devices: The devices, of `list_physical_devices`; none hides all of the kind.
        device_type: Of which kind; None: all kinds, so that those that are not in `devices` are hidden.

    Raises:
        BadArgumentError: A device is not there, or not of the kind; or devices are simulated, and so can't be hidden.
        FailedPreconditionError: JAX has started, with other devices.
    """
    chosen = [devices] if isinstance(devices, PhysicalDevice) else list(devices)
    for one in chosen:
        _check_exists(one)
        if device_type is not None and one.device_type != device_type:
            raise BadArgumentError(
                f"A device is not of the kind whose devices are chosen. Expected: {shown(device_type)}. Received: "
                f"{shown(one)}."
            )
    kinds = ("GPU", "TPU") if device_type is None else (device_type,)
    changed = {
        kind: wanted
        for kind in kinds
        if (wanted := [one for one in chosen if one.device_type == kind]) != get_visible_devices(kind)
    }
    if changed and is_simulated():
        raise BadArgumentError(
            "Simulated devices can't be hidden: they are the same CPU. Simulate as many as are needed. Received: "
            f"devices={shown(chosen)}."
        )
    # The host's CPU can't be hidden: JAX keeps arrays there.
    for kind, wanted in changed.items():
        if kind != "CPU":
            _show(kind, wanted)


def _show(kind: str, wanted: list[PhysicalDevice]) -> None:
    _check_not_started("devices can be hidden")
    existing = list_physical_devices(kind)
    # From here on JAX counts those that it sees.
    _physical.keep_count(kind, len(existing))
    _settings.visible[kind] = wanted
    if wanted:
        jax.config.update("jax_cuda_visible_devices", ",".join(str(existing.index(one)) for one in wanted))
        return
    others = [other for other in ("GPU", "TPU") if other != kind and get_visible_devices(other)]
    jax.config.update("jax_platforms", ",".join([*(other.lower() for other in others), "cpu"]))


def get_memory_growth(device: PhysicalDevice) -> bool:
    """Return whether a GPU's memory is taken piece by piece, as ``tf.config.experimental.get_memory_growth``.

    Raises:
        BadArgumentError: There is no such device.
    """
    _check_exists(device)
    return _settings.growth.get(device, False)


def set_memory_growth(device: PhysicalDevice, enable: bool) -> None:
    """Take a GPU's memory piece by piece, as ``tf.config.experimental.set_memory_growth``, before JAX starts.

    By itself JAX takes three quarters of the memory when it starts. It has one setting for all GPUs of a process, so
    that the last call decides, as it does where a program calls this for each GPU.

    Args:
        device: A GPU of `list_physical_devices`.
        enable: Whether to; False has JAX take the memory at once.

    Raises:
        BadArgumentError: There is no such device, or it is no GPU.
        FailedPreconditionError: JAX has started.
    """
    _check_exists(device)
    if device.device_type != "GPU":
        raise BadArgumentError(
            f"Memory growth is a setting of GPUs. Received: device={shown(device)}. Leave the call out."
        )
    if _settings.growth.get(device) == enable:
        return
    # Simulated GPUs have the host's memory, of which nothing is taken before it is needed.
    if not is_simulated():
        _check_not_started("the growth of a GPU's memory can be set")
        os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false" if enable else "true"
    _settings.growth[device] = enable


def get_logical_device_configuration(device: PhysicalDevice) -> list[LogicalDeviceConfiguration] | None:
    """Return the logical devices that a device was made into; None if it was not.

    Raises:
        BadArgumentError: There is no such device.
    """
    _check_exists(device)
    return _settings.logical.get(device)


def set_logical_device_configuration(
    device: PhysicalDevice, logical_devices: list[LogicalDeviceConfiguration]
) -> None:
    """Make the host's CPU into several devices, or limit a GPU's memory, before JAX starts.

    Follows ``tf.config.set_logical_device_configuration``. For several GPUs or TPU cores where there are none, use
    `stratax.simulate_devices`.

    Args:
        device: A device of `list_physical_devices`.
        logical_devices: What it is to be: several of a CPU; of a GPU one, with a limit. JAX has one limit for all GPUs,
            as a share of their memory, so that the last call decides.

    Raises:
        BadArgumentError: There is no such device, or it can't be what is asked for.
        FailedPreconditionError: JAX has started.
    """
    _check_exists(device)
    wanted = list(logical_devices)
    _check_configurations(device, wanted)
    if _settings.logical.get(device) == wanted:
        return
    if is_simulated():
        raise FailedPreconditionError(
            "Devices are simulated already. Leave out either stratax.simulate_devices (STRATAX_SIMULATE) or this call. "
            f"Received: device={shown(device)}, {len(wanted)} logical devices."
        )
    _check_not_started("logical devices can be configured")
    if device.device_type == "CPU":
        _physical.keep_count("CPU", len(list_physical_devices("CPU")))
        jax.config.update("jax_num_cpu_devices", len(wanted))
        reserve_threads(len(wanted))
    else:
        _limit_memory(device, wanted[0])
    _settings.logical[device] = wanted


def _check_configurations(device: PhysicalDevice, wanted: list[LogicalDeviceConfiguration]) -> None:
    if device.device_type == "TPU" or not wanted:
        raise BadArgumentError(
            "Logical devices are made of a CPU or a GPU, one at least. Received: "
            f"device={shown(device)}, logical_devices={shown(wanted)}."
        )
    if device.device_type == "CPU" and any(one != LogicalDeviceConfiguration() for one in wanted):
        raise BadArgumentError(
            "A logical device of a CPU has no settings: all share the host's memory. Expected: "
            f"LogicalDeviceConfiguration(). Received: {shown(wanted)}."
        )
    if device.device_type == "GPU" and any(one.memory_limit is None for one in wanted):
        raise BadArgumentError(
            "A logical device of a GPU needs a limit of its memory in MiB. Expected: "
            f"LogicalDeviceConfiguration(memory_limit=1024). Received: {shown(wanted)}."
        )
    if device.device_type == "GPU" and len(wanted) > 1:
        # A RuntimeError, which programs that configure GPUs catch and go on with one.
        raise FailedPreconditionError(
            "JAX has one device for each GPU, so a GPU can't be several. Received: "
            f"{len(wanted)} logical devices for {shown(device)}. To try a program for several GPUs, call "
            f"stratax.simulate_devices({len(wanted)}, kind='GPU') instead."
        )


def _limit_memory(device: PhysicalDevice, wanted: LogicalDeviceConfiguration) -> None:
    memory = _physical.cuda_memory(list_physical_devices("GPU").index(device))
    if not memory or wanted.memory_limit is None:
        raise FailedPreconditionError(
            "How much memory the GPU has can't be found out, so it can't be limited to a number of MiB. Set the "
            "environment variable XLA_CLIENT_MEM_FRACTION to the share that JAX may take. Received: "
            f"device={shown(device)}."
        )
    # jaxlib refuses both names of the setting together.
    os.environ.pop("XLA_PYTHON_CLIENT_MEM_FRACTION", None)
    os.environ["XLA_CLIENT_MEM_FRACTION"] = f"{min(1.0, wanted.memory_limit * _MEBIBYTE / memory):.6f}"


def get_memory_info(device: str) -> dict[str, int]:
    """Return how many bytes of a device's memory are in use now, and the most that were.

    Follows ``tf.config.experimental.get_memory_info``.

    Args:
        device: A device's name, such as ``"GPU:0"``.

    Returns:
        The bytes as `"current"` and `"peak"`; zeros for a CPU, which TensorFlow does not count either.

    Raises:
        DeviceError: There is no such device.
    """
    statistics: dict[str, Any] = resolve_device(device).memory_stats() or {}
    return {
        "current": int(statistics.get("bytes_in_use", 0)),
        "peak": int(statistics.get("peak_bytes_in_use", 0)),
    }


def get_memory_usage(device: str) -> int:
    """Return how many bytes of a device's memory are in use, as ``tf.config.experimental.get_memory_usage``.

    Args:
        device: A device's name, such as ``"GPU:0"``.

    Raises:
        DeviceError: There is no such device.
    """
    return get_memory_info(device)["current"]


def get_device_details(device: PhysicalDevice) -> dict[str, Any]:
    """Return what is known of a device, as ``tf.config.experimental.get_device_details``; start JAX if it has not.

    Args:
        device: A visible device of `list_physical_devices`.

    Returns:
        Of a GPU `"device_name"` and, if it has one, `"compute_capability"`, two numbers; of others nothing.

    Raises:
        BadArgumentError: There is no such device.
    """
    _check_exists(device)
    visible = get_visible_devices(device.device_type)
    if device.device_type != "GPU" or device not in visible:
        return {}
    found = local_devices("GPU")[visible.index(device)]
    details: dict[str, Any] = {"device_name": found.device_kind}
    capability = getattr(found, "compute_capability", None)
    if isinstance(capability, str) and device_kind(found) == "GPU":
        details["compute_capability"] = tuple(int(part) for part in capability.split("."))
    return details


def _check_exists(device: object) -> None:
    if not isinstance(device, PhysicalDevice):
        raise BadArgumentError(
            "A device must be one of those that list_physical_devices() lists. Received: "
            f"device={shown(device)}. Pass the entry of the list."
        )
    if device not in list_physical_devices(device.device_type):
        raise BadArgumentError(
            f"This host has no such device. Expected: one of {shown(list_physical_devices())}. Received: "
            f"device={shown(device)}."
        )


def _check_not_started(what: str) -> None:
    if _physical.has_started():
        raise FailedPreconditionError(
            f"JAX has started already (something computed, or asked for logical devices), and {what} before only. Make "
            "the setting at the beginning of the program, right after the imports and `list_physical_devices`."
        )
