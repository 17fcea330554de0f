import stratax.distribute
import stratax.tensorflow.contrib._strategies
from stratax.distribute import CrossDeviceOps as CrossDeviceOps
from stratax.distribute import OneDeviceStrategy as OneDeviceStrategy
from stratax.distribute import ReplicaContext as ReplicaContext
from stratax.distribute import get_replica_context as get_replica_context
from stratax.distribute import get_strategy as get_strategy
from stratax.distribute import has_strategy as has_strategy
from stratax.distribute import in_cross_replica_context as in_cross_replica_context
from stratax.estimator import DistributeConfig as DistributeConfig
from stratax.tpu import initialize_tpu_system as initialize_tpu_system

from ._strategies import AllReduceCrossDeviceOps as AllReduceCrossDeviceOps
from ._strategies import CollectiveAllReduceStrategy as CollectiveAllReduceStrategy
from ._strategies import MirroredStrategy as MirroredStrategy
from ._strategies import ParameterServerStrategy as ParameterServerStrategy
from ._strategies import TPUStrategy as TPUStrategy

AllReduceCrossTowerOps = stratax.tensorflow.contrib._strategies.AllReduceCrossDeviceOps
DistributionStrategy = stratax.distribute.Strategy
get_distribution_strategy = stratax.distribute.get_strategy
has_distribution_strategy = stratax.distribute.has_strategy
