"""`tf.compat.v1.distribute.experimental` (tf layer)."""

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
from stratax.tf.distribute.experimental import coordinator as coordinator
from stratax.tf.distribute.experimental import partitioners as partitioners
from stratax.train import PreemptionCheckpointHandler as PreemptionCheckpointHandler
from stratax.train import TerminationConfig as TerminationConfig

ParameterServerStrategy = stratax.distribute.strategies.ParameterServerStrategyV1
