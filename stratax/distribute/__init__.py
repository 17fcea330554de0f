"""What runs where: strategies, contexts, values of replicas, collectives and distributed input.

Each axis has a folder. Imports point down: `keras_hooks`, `strategies`, `collectives` and `input`, `replicas`.
"""

from stratax.cluster import TPUClusterResolver as TPUClusterResolver
from stratax.distribute.collectives._communication import CollectiveCommunication as CollectiveCommunication
from stratax.distribute.collectives._communication import (
    CommunicationImplementation as CommunicationImplementation,
)
from stratax.distribute.collectives._communication import CommunicationOptions as CommunicationOptions
from stratax.distribute.collectives._cross_device_ops import (
    AllReduceCrossDeviceOps as AllReduceCrossDeviceOps,
)
from stratax.distribute.collectives._cross_device_ops import (
    HierarchicalCopyAllReduce as HierarchicalCopyAllReduce,
)
from stratax.distribute.collectives._cross_device_ops import NcclAllReduce as NcclAllReduce
from stratax.distribute.collectives._cross_device_ops import ReductionToOneDevice as ReductionToOneDevice
from stratax.distribute.collectives._cross_device_ops import RingAllReduce as RingAllReduce
from stratax.distribute.collectives._cross_device_ops_base import CrossDeviceOps as CrossDeviceOps
from stratax.distribute.input._input import DistributedDataset as DistributedDataset
from stratax.distribute.input._input import DistributedIterator as DistributedIterator
from stratax.distribute.input._input import InputContext as InputContext
from stratax.distribute.input._input import InputOptions as InputOptions
from stratax.distribute.input._input import ValueContext as ValueContext
from stratax.distribute.keras_hooks import _keras_hooks
from stratax.distribute.replicas._contexts import ReplicaContext as ReplicaContext
from stratax.distribute.replicas._contexts import get_replica_context as get_replica_context
from stratax.distribute.replicas._contexts import get_strategy as get_strategy
from stratax.distribute.replicas._contexts import has_strategy as has_strategy
from stratax.distribute.replicas._contexts import in_cross_replica_context as in_cross_replica_context
from stratax.distribute.replicas._losses import compute_average_loss as compute_average_loss
from stratax.distribute.replicas._losses import scale_regularization_loss as scale_regularization_loss
from stratax.distribute.replicas._reduce_op import ReduceOp as ReduceOp
from stratax.distribute.replicas._values import PerReplica as PerReplica
from stratax.distribute.strategies._central_storage import CentralStorageStrategy as CentralStorageStrategy
from stratax.distribute.strategies._detect import detect_strategy as detect_strategy
from stratax.distribute.strategies._mirrored import MirroredStrategy as MirroredStrategy
from stratax.distribute.strategies._multi_worker import (
    MultiWorkerMirroredStrategy as MultiWorkerMirroredStrategy,
)
from stratax.distribute.strategies._one_device import OneDeviceStrategy as OneDeviceStrategy
from stratax.distribute.strategies._strategy import Strategy as Strategy
from stratax.distribute.strategies._tpu import TPUStrategy as TPUStrategy

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
