"""`tf.distribute.experimental` (tf layer)."""

import stratax.distribute.strategies
from stratax.distribute import CentralStorageStrategy as CentralStorageStrategy
from stratax.distribute import CollectiveCommunication as CollectiveCommunication
from stratax.distribute import CommunicationImplementation as CommunicationImplementation
from stratax.distribute import CommunicationOptions as CommunicationOptions
from stratax.distribute import TPUStrategy as TPUStrategy
from stratax.distribute import ValueContext as ValueContext
from stratax.distribute.strategies.experimental import (
    MultiWorkerMirroredStrategy as MultiWorkerMirroredStrategy,
)
from stratax.train import PreemptionCheckpointHandler as PreemptionCheckpointHandler
from stratax.train import TerminationConfig as TerminationConfig

from . import coordinator as coordinator
from . import partitioners as partitioners

ParameterServerStrategy = stratax.distribute.strategies.ExperimentalParameterServerStrategy
