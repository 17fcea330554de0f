"""`tf.distribute.experimental` (tf layer)."""

import importlib
from typing import TYPE_CHECKING, Any

from stratax.distribute import CentralStorageStrategy as CentralStorageStrategy
from stratax.distribute import CollectiveCommunication as CollectiveCommunication
from stratax.distribute import CommunicationImplementation as CommunicationImplementation
from stratax.distribute import CommunicationOptions as CommunicationOptions
from stratax.distribute import TPUStrategy as TPUStrategy
from stratax.distribute import ValueContext as ValueContext
from stratax.distribute.strategies._experimental import (
    MultiWorkerMirroredStrategy as MultiWorkerMirroredStrategy,
)
from stratax.tf._names import missing_name

if TYPE_CHECKING:
    from stratax.train import PreemptionCheckpointHandler as PreemptionCheckpointHandler
    from stratax.train import TerminationConfig as TerminationConfig

__all__ = [
    "CentralStorageStrategy",
    "CollectiveCommunication",
    "CommunicationImplementation",
    "CommunicationOptions",
    "MultiWorkerMirroredStrategy",
    "PreemptionCheckpointHandler",
    "TPUStrategy",
    "TerminationConfig",
    "ValueContext",
]


def _load(name: str) -> Any:
    # Checkpoints need Orbax, which takes its time to load.
    return getattr(importlib.import_module("stratax.train"), name)


__getattr__ = missing_name(__name__, __all__, _load)
