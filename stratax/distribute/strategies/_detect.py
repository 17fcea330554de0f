"""Choosing a strategy by what the machine has (distribute layer)."""

from stratax.cluster import (
    TPUClusterResolver,
    experimental_connect_to_cluster,
    initialize_tpu_system,
    list_logical_devices,
)
from stratax.distribute.replicas import get_strategy
from stratax.distribute.strategies._mirrored import MirroredStrategy
from stratax.distribute.strategies._strategy import Strategy
from stratax.distribute.strategies._tpu import TPUStrategy


def detect_strategy() -> Strategy:
    """Return the strategy for the best hardware there is: a TPU, else the GPUs, else the default strategy.

    Returns:
        A `TPUStrategy` on all cores of a TPU (real or simulated), a `MirroredStrategy` on all GPUs, or the
        strategy in force.

    Example:
        >>> import stratax as sx
        >>> sx.detect_strategy().num_replicas_in_sync >= 1
        True
    """
    try:
        resolver = TPUClusterResolver()
    # As TensorFlow's programs look for a TPU.
    except ValueError:
        resolver = None
    if resolver is not None:
        experimental_connect_to_cluster(resolver)
        initialize_tpu_system(resolver)
        return TPUStrategy(resolver)
    if list_logical_devices("GPU"):
        return MirroredStrategy()
    return get_strategy()
