"""The strategies that the command line knows by a short name (cli layer)."""

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stratax.distribute import Strategy


def build_strategy(name: str) -> "Strategy":
    """Return the strategy called `name` on the command line, over the devices that are here.

    Args:
        name: One of `STRATEGIES`.

    Returns:
        A strategy of `stratax.distribute`.

    Raises:
        NoTPUError: If it is ``"tpu"`` and there is no TPU, real or simulated.
    """
    return STRATEGIES[name]()


def _one_device() -> "Strategy":
    from stratax.cluster import list_logical_devices
    from stratax.distribute import OneDeviceStrategy

    accelerators = [*list_logical_devices("TPU"), *list_logical_devices("GPU")]
    return OneDeviceStrategy(accelerators[0].name if accelerators else "/cpu:0")


def _make_mirrored() -> "Strategy":
    from stratax.distribute import MirroredStrategy

    return MirroredStrategy()


def _central_storage() -> "Strategy":
    from stratax.distribute import CentralStorageStrategy

    return CentralStorageStrategy()


def _tpu() -> "Strategy":
    from stratax.cluster import TPUClusterResolver, experimental_connect_to_cluster, initialize_tpu_system
    from stratax.distribute import TPUStrategy

    resolver = TPUClusterResolver()
    experimental_connect_to_cluster(resolver)
    initialize_tpu_system(resolver)
    return TPUStrategy(resolver)


# How to build each; the names are those of `stratax demo --strategy`.
STRATEGIES: dict[str, Callable[[], "Strategy"]] = {
    "one": _one_device,
    "mirrored": _make_mirrored,
    "central": _central_storage,
    "tpu": _tpu,
}
