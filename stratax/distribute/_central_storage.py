"""`CentralStorageStrategy`: variables kept in one place, computed with on all devices (distribute layer)."""

from collections.abc import Sequence
from typing import Any

import jax

from stratax import errors
from stratax._shown import shown
from stratax.cluster._devices import local_devices, resolve_device
from stratax.distribute._extended import StrategyExtended
from stratax.distribute._mirrored import resolve_devices
from stratax.distribute._strategy import Strategy


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
        DeviceError: If a device does not exist.

    Example:
        >>> import stratax as sx
        >>> strategy = sx.distribute.CentralStorageStrategy(["/cpu:0"])
        >>> strategy.num_replicas_in_sync
        1
    """

    def __init__(self, compute_devices: Sequence[Any] | None = None, parameter_device: Any = None) -> None:
        devices = resolve_devices(compute_devices)
        if parameter_device is not None:
            self._parameter_device = resolve_device(parameter_device)
        else:
            self._parameter_device = devices[0] if len(devices) == 1 else local_devices("CPU")[0]
        if self._parameter_device.process_index != jax.process_index():
            raise errors.DeviceError(
                "parameter_device must be a device of this process. Received: "
                f"parameter_device={shown(parameter_device)}."
            )

        super().__init__(
            devices, extended=lambda strategy: _StoredElsewhere(strategy, self._parameter_device)
        )

    @property
    def parameter_device(self) -> jax.Device:
        """Where variables are kept between steps."""
        return self._parameter_device


class _StoredElsewhere(StrategyExtended):
    """Variables that are kept on one device, whichever compute.

    Args:
        strategy: The strategy.
        device: Where variables are kept.
    """

    def __init__(self, strategy: Strategy, device: jax.Device) -> None:
        super().__init__(strategy)
        self._device = device

    @property
    def variable_storage(self) -> jax.sharding.Sharding:
        """On the parameter device."""
        if self._strategy.devices == (self._device,):
            return self.variable_placement
        return jax.sharding.SingleDeviceSharding(self._device)
