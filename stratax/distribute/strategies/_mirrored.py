"""`MirroredStrategy`: several devices of one machine, in step (distribute layer)."""

from collections.abc import Sequence
from typing import Any

import jax

from stratax import errors
from stratax.base.shown import shown
from stratax.cluster import placed_devices
from stratax.distribute.collectives import CrossDeviceOps
from stratax.distribute.strategies._extended import on_devices
from stratax.distribute.strategies._strategy import Strategy


class MirroredStrategy(Strategy):
    """Synchronous training on several devices of one machine; every device has a copy of every variable.

    Follows `tf.distribute.MirroredStrategy`.

    Args:
        devices: Names (`"/gpu:0"`), `LogicalDevice`s or `jax.Device`s; None for all accelerators of this process, or,
            where there are none, its CPU devices (several if they are simulated). Those that don't exist are left out,
            with a warning; if none exists, the first of this process take their places.
        cross_device_ops: How gradients are combined: `NcclAllReduce()` (the default, XLA's own),
            `HierarchicalCopyAllReduce()`, `ReductionToOneDevice()`, `RingAllReduce()` or your own.

    Raises:
        DeviceError: If a device does not exist after `tf.config.set_soft_device_placement(False)`.
        BadArgumentError: If no device is given, or one twice.

    Example:
        >>> import stratax as sx
        >>> strategy = sx.distribute.MirroredStrategy(["/cpu:0"])
        >>> strategy.num_replicas_in_sync
        1
    """

    def __init__(
        self, devices: Sequence[Any] | None = None, cross_device_ops: CrossDeviceOps | None = None
    ) -> None:
        super().__init__(on_devices(self, resolve_devices(devices), cross_device_ops))


def resolve_devices(devices: Sequence[Any] | None) -> list[jax.Device]:
    """Return the devices that are named, or all of this process's default kind."""
    if devices is None:
        # JAX's default platform: accelerators where there are any.
        return jax.local_devices()
    # A single name is a sequence of characters.
    if isinstance(devices, (str, bytes)) or not isinstance(devices, Sequence):
        raise errors.BadTypeError(
            f"devices must be a list of devices or their names. Received: devices={shown(devices)}. Write "
            f"`[{shown(devices)}]`."
        )
    resolved = placed_devices(devices)
    if not resolved:
        raise errors.BadArgumentError("devices must name at least one device. Received: devices=[].")
    if len(set(resolved)) < len(resolved):
        raise errors.BadArgumentError(
            f"devices must not name a device twice. Received: devices={shown(list(devices))}."
        )
    return resolved
