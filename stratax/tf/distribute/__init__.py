"""`tf.distribute` (tf layer)."""

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
from stratax.distribute import PerReplica as DistributedValues
from stratax.distribute import PerReplica as PerReplica
from stratax.distribute import ReduceOp as ReduceOp
from stratax.distribute import ReductionToOneDevice as ReductionToOneDevice
from stratax.distribute import ReplicaContext as ReplicaContext
from stratax.distribute import Strategy as Strategy
from stratax.distribute import TPUStrategy as TPUStrategy
from stratax.distribute import get_replica_context as get_replica_context
from stratax.distribute import get_strategy as get_strategy
from stratax.distribute import has_strategy as has_strategy
from stratax.distribute import in_cross_replica_context as in_cross_replica_context
from stratax.tf._names import missing_name
from stratax.tf.distribute import cluster_resolver as cluster_resolver
from stratax.tf.distribute import experimental as experimental

__all__ = [
    "CrossDeviceOps",
    "DistributedDataset",
    "DistributedIterator",
    "DistributedValues",
    "HierarchicalCopyAllReduce",
    "InputContext",
    "InputOptions",
    "MirroredStrategy",
    "MultiWorkerMirroredStrategy",
    "NcclAllReduce",
    "OneDeviceStrategy",
    "PerReplica",
    "ReduceOp",
    "ReductionToOneDevice",
    "ReplicaContext",
    "Strategy",
    "TPUStrategy",
    "cluster_resolver",
    "experimental",
    "get_replica_context",
    "get_strategy",
    "has_strategy",
    "in_cross_replica_context",
]
__getattr__ = missing_name(__name__, __all__)
