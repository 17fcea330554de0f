"""`OneDeviceStrategy` and the default strategy (distribute layer)."""

import functools

import jax

from stratax.cluster import placed_devices
from stratax.distribute.strategies._extended import StrategyExtended, on_devices
from stratax.distribute.strategies._placement import OnDevices
from stratax.distribute.strategies._strategy import Strategy


class OneDeviceStrategy(Strategy):
    """Runs everything on one device that is named: a program that is to be distributed later.

    Follows `tf.distribute.OneDeviceStrategy`.

    Args:
        device: The device: its name (`"/gpu:0"`, `"/cpu:0"`, `"/TPU:0"`), a `LogicalDevice` or a `jax.Device`.

    Raises:
        DeviceError: If there is no such device after `tf.config.set_soft_device_placement(False)`. At first, what
            exists is used, with a warning.

    Example:
        >>> import stratax as sx
        >>> sx.distribute.OneDeviceStrategy("/cpu:0").num_replicas_in_sync
        1
    """

    def __init__(self, device: object) -> None:
        super().__init__(_on_one_device(self, placed_devices([device])[0]))


class DefaultStrategy(Strategy):
    """The strategy in force outside of every scope: JAX's default device, nothing distributed."""

    def __init__(self) -> None:
        super().__init__(_on_one_device(self, jax.local_devices()[0]))


def _on_one_device(strategy: Strategy, device: jax.Device) -> StrategyExtended:
    # Without a mesh in their types, variables can be computed with beside arrays of any program.
    placement = OnDevices(jax.sharding.SingleDeviceSharding(device))
    return on_devices(strategy, [device], placement=placement)


@functools.cache
def default_strategy() -> DefaultStrategy:
    """Return the default strategy, made (and JAX started) when it is first asked for."""
    return DefaultStrategy()
