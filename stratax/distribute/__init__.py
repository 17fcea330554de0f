"""What runs where: strategies, contexts, values of replicas, collectives and distributed input."""

from stratax.cluster._resolvers import TPUClusterResolver as TPUClusterResolver
from stratax.distribute import _keras_hooks
from stratax.distribute._central_storage import CentralStorageStrategy as CentralStorageStrategy
from stratax.distribute._communication import CollectiveCommunication as CollectiveCommunication
from stratax.distribute._communication import CommunicationImplementation as CommunicationImplementation
from stratax.distribute._communication import CommunicationOptions as CommunicationOptions
from stratax.distribute._contexts import ReplicaContext as ReplicaContext
from stratax.distribute._contexts import get_replica_context as get_replica_context
from stratax.distribute._contexts import get_strategy as get_strategy
from stratax.distribute._contexts import has_strategy as has_strategy
from stratax.distribute._contexts import in_cross_replica_context as in_cross_replica_context
from stratax.distribute._cross_device_ops import AllReduceCrossDeviceOps as AllReduceCrossDeviceOps
from stratax.distribute._cross_device_ops import HierarchicalCopyAllReduce as HierarchicalCopyAllReduce
from stratax.distribute._cross_device_ops import NcclAllReduce as NcclAllReduce
from stratax.distribute._cross_device_ops import ReductionToOneDevice as ReductionToOneDevice
from stratax.distribute._cross_device_ops import RingAllReduce as RingAllReduce
from stratax.distribute._cross_device_ops_base import CrossDeviceOps as CrossDeviceOps
from stratax.distribute._detect import detect_strategy as detect_strategy
from stratax.distribute._input import DistributedDataset as DistributedDataset
from stratax.distribute._input import DistributedIterator as DistributedIterator
from stratax.distribute._input import InputContext as InputContext
from stratax.distribute._input import InputOptions as InputOptions
from stratax.distribute._input import ValueContext as ValueContext
from stratax.distribute._losses import compute_average_loss as compute_average_loss
from stratax.distribute._losses import scale_regularization_loss as scale_regularization_loss
from stratax.distribute._mirrored import MirroredStrategy as MirroredStrategy
from stratax.distribute._multi_worker import MultiWorkerMirroredStrategy as MultiWorkerMirroredStrategy
from stratax.distribute._one_device import OneDeviceStrategy as OneDeviceStrategy
from stratax.distribute._reduce_op import ReduceOp as ReduceOp
from stratax.distribute._strategy import Strategy as Strategy
from stratax.distribute._tpu import TPUStrategy as TPUStrategy
from stratax.distribute._values import PerReplica as PerReplica

_keras_hooks.install()

__all__ = [
    "AllReduceCrossDeviceOps",
    "CentralStorageStrategy",
    "CollectiveCommunication",
    "CommunicationImplementation",
    "CommunicationOptions",
    "CrossDeviceOps",
    "DistributedDataset",
    "DistributedIterator",
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
    "RingAllReduce",
    "Strategy",
    "TPUClusterResolver",
    "TPUStrategy",
    "ValueContext",
    "compute_average_loss",
    "detect_strategy",
    "get_replica_context",
    "get_strategy",
    "has_strategy",
    "in_cross_replica_context",
    "scale_regularization_loss",
]
