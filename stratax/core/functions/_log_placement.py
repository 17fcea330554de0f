"""Saying on which devices functions run, as `tf.debugging.set_log_device_placement` (core layer)."""

import dataclasses
import sys

import jax


@dataclasses.dataclass(slots=True)
class _Mode:
    is_on: bool = False


_mode = _Mode()


def set_log_device_placement(enabled: bool) -> None:
    """Have each function that is compiled say to stderr on which devices it runs.

    Follows `tf.debugging.set_log_device_placement`, which does so for each operation. Devices have JAX' names.

    Args:
        enabled: Whether to, from now on.
    """
    _mode.is_on = bool(enabled)


def get_log_device_placement() -> bool:
    """Return whether functions say on which devices they run."""
    return _mode.is_on


def note(name: str, placement: jax.sharding.Sharding | None) -> None:
    """Say where a function runs that was compiled, if that is asked for.

    Args:
        name: The function's name.
        placement: Where its variables have to be; None: on the default device.
    """
    if not _mode.is_on:
        return
    chosen = jax.config.values["jax_default_device"]
    devices: list[jax.Device] = [chosen if isinstance(chosen, jax.Device) else jax.local_devices()[0]]
    if placement is not None:
        devices = sorted(placement.device_set, key=lambda device: device.id)
    sys.stderr.write(f"Executing function {name} on {', '.join(map(str, devices))}\n")
