"""`CentralStorageStrategy`: variables kept in one place, computed with on all devices (distribute layer)."""

from collections.abc import Sequence
from typing import Any

import jax

from stratax import errors
from stratax.base.shown import shown
from stratax.cluster import local_devices, placed_devices
from stratax.distribute.strategies._extended import on_devices
from stratax.distribute.strategies._mirrored import resolve_devices
from stratax.distribute.strategies._placement import OnDevices, OnOtherDevice, copies_on
from stratax.distribute.strategies._strategy import Strategy


class CentralStorageStrategy(Strategy):
    """Synchronous training on all devices of a machine with the variables kept on its host.

    Follows `tf.distribute.experimental.CentralStorageStrategy`. A step sends the variables to the compute devices,
    gathers the replicas' gradients on the parameter device, and updates the variables there, once. The compute devices
    never hold optimizer slots, and between steps no variables either. Steps whose results other steps of the same
    dispatch need (`steps_per_execution`, loops in a compiled function) are updated on the compute devices.

    Args:
        compute_devices: Devices of the replicas; None for all accelerators, or the CPU devices where there are none.
        parameter_device: Where variables are kept; None for the host's CPU, or, with one compute device, that device.

    Raises:
        DeviceError: If a device does not exist after `tf.config.set_soft_device_placement(False)`. At first, what
            exists is used, with a warning.

    Example:
        >>> import stratax as sx
        >>> strategy = sx.distribute.CentralStorageStrategy(["/cpu:0"])
        >>> strategy.num_replicas_in_sync
        1
    """

    def __init__(self, compute_devices: Sequence[Any] | None = None, parameter_device: object = None) -> None:
        devices = resolve_devices(compute_devices)
        if parameter_device is not None:
            self._parameter_device = placed_devices([parameter_device])[0]
        else:
            self._parameter_device = devices[0] if len(devices) == 1 else local_devices("CPU")[0]
        # Arrays of other processes can't be read or written here.
        if self._parameter_device.process_index != jax.process_index():
            raise errors.DeviceError(
                "parameter_device must be a device of this process. Received: "
                f"parameter_device={shown(parameter_device)}."
            )

        super().__init__(on_devices(self, devices, placement=_placement_on(self._parameter_device, devices)))

    @property
    def parameter_device(self) -> jax.Device:
        """Where variables are kept between steps."""
        return self._parameter_device


def _placement_on(device: jax.Device, compute_devices: list[jax.Device]) -> OnDevices:
    # Nothing would move.
    if compute_devices == [device]:
        return OnDevices(copies_on(compute_devices))
    return OnOtherDevice(copies_on(compute_devices), jax.sharding.SingleDeviceSharding(device))
