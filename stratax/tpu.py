"""TPUs: finding them, initialising them, and the strategy that uses them."""

from stratax.cluster._resolvers import TPUClusterResolver as TPUClusterResolver
from stratax.cluster._resolvers import initialize_tpu_system as initialize_tpu_system
from stratax.cluster._resolvers import shutdown_tpu_system as shutdown_tpu_system
from stratax.distribute.strategies._tpu import TPUStrategy as TPUStrategy

__all__ = ["TPUClusterResolver", "TPUStrategy", "initialize_tpu_system", "shutdown_tpu_system"]
