"""`tf.distribute.experimental` (tf layer)."""

from stratax.checkpoint import PreemptionCheckpointHandler as PreemptionCheckpointHandler
from stratax.checkpoint import TerminationConfig as TerminationConfig
from stratax.distribute import CentralStorageStrategy as CentralStorageStrategy
from stratax.distribute import CollectiveCommunication as CollectiveCommunication
from stratax.distribute import CommunicationImplementation as CommunicationImplementation
from stratax.distribute import CommunicationOptions as CommunicationOptions
from stratax.distribute import MultiWorkerMirroredStrategy as MultiWorkerMirroredStrategy
from stratax.distribute import TPUStrategy as TPUStrategy
from stratax.distribute import ValueContext as ValueContext
from stratax.tf._names import missing_name

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
__getattr__ = missing_name(__name__, __all__)
