"""`OneDeviceStrategy` and the default strategy (distribute layer)."""

import functools
from typing import Any

import jax

from stratax.cluster._devices import resolve_device
from stratax.distribute import _contexts
from stratax.distribute._extended import StrategyExtended
from stratax.distribute._strategy import Strategy


class OneDeviceStrategy(Strategy):
    """Runs everything on one device that is named: a program that is to be distributed later.

    Follows `tf.distribute.OneDeviceStrategy`.

    Args:
        device: The device: its name (`"/gpu:0"`, `"/cpu:0"`, `"/TPU:0"`), a `LogicalDevice` or a `jax.Device`.

    Raises:
        DeviceError: If there is no such device.

    Example:
        >>> import stratax as sx
        >>> sx.distribute.OneDeviceStrategy("/cpu:0").num_replicas_in_sync
        1
    """

    def __init__(self, device: Any) -> None:
        super().__init__([resolve_device(device)], extended=_OnOneDevice)


class DefaultStrategy(Strategy):
    """The strategy in force outside of every scope: JAX's default device, nothing distributed."""

    def __init__(self) -> None:
        super().__init__([jax.local_devices()[0]], extended=_OnOneDevice)


class _OnOneDevice(StrategyExtended):
    """Variables that are on one device, without a mesh."""

    @property
    def variable_placement(self) -> jax.sharding.Sharding:
        """On the one device."""
        return jax.sharding.SingleDeviceSharding(self._strategy.devices[0])


@functools.cache
def default_strategy() -> DefaultStrategy:
    """The default strategy, made (and JAX started) when it is first asked for."""
    return DefaultStrategy()


_contexts.set_default(default_strategy)
