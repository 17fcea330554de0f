"""`tf.distribute` (tf layer)."""

import stratax.distribute
from stratax.distribute import CrossDeviceOps as CrossDeviceOps
from stratax.distribute import DistributedDataset as DistributedDataset
from stratax.distribute import DistributedIterator as DistributedIterator
from stratax.distribute import HierarchicalCopyAllReduce as HierarchicalCopyAllReduce
from stratax.distribute import InputContext as InputContext
from stratax.distribute import InputOptions as InputOptions
from stratax.distribute import MirroredStrategy as MirroredStrategy
from stratax.distribute import MultiWorkerMirroredStrategy as MultiWorkerMirroredStrategy
from stratax.distribute import NcclAllReduce as NcclAllReduce
from stratax.distribute import OneDeviceStrategy as OneDeviceStrategy
from stratax.distribute import ParameterServerStrategy as ParameterServerStrategy
from stratax.distribute import PerReplica as PerReplica
from stratax.distribute import ReduceOp as ReduceOp
from stratax.distribute import ReductionToOneDevice as ReductionToOneDevice
from stratax.distribute import ReplicaContext as ReplicaContext
from stratax.distribute import Server as Server
from stratax.distribute import Strategy as Strategy
from stratax.distribute import StrategyExtended as StrategyExtended
from stratax.distribute import TPUStrategy as TPUStrategy
from stratax.distribute import experimental_set_strategy as experimental_set_strategy
from stratax.distribute import get_replica_context as get_replica_context
from stratax.distribute import get_strategy as get_strategy
from stratax.distribute import has_strategy as has_strategy
from stratax.distribute import in_cross_replica_context as in_cross_replica_context

from . import cluster_resolver as cluster_resolver
from . import coordinator as coordinator
from . import experimental as experimental

DistributedValues = stratax.distribute.PerReplica
