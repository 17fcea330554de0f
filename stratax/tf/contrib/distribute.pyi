"""`tf.contrib.distribute`: what TensorFlow 1 had there and TensorFlow 2 has elsewhere, or not at all (tf layer)."""

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
from stratax.tensorflow.contrib._strategies import AllReduceCrossDeviceOps as AllReduceCrossDeviceOps
from stratax.tensorflow.contrib._strategies import CollectiveAllReduceStrategy as CollectiveAllReduceStrategy
from stratax.tensorflow.contrib._strategies import MirroredStrategy as MirroredStrategy
from stratax.tensorflow.contrib._strategies import ParameterServerStrategy as ParameterServerStrategy
from stratax.tensorflow.contrib._strategies import TPUStrategy as TPUStrategy
from stratax.tpu import initialize_tpu_system as initialize_tpu_system

AllReduceCrossTowerOps = stratax.tensorflow.contrib._strategies.AllReduceCrossDeviceOps
DistributionStrategy = stratax.distribute.Strategy
get_distribution_strategy = stratax.distribute.get_strategy
has_distribution_strategy = stratax.distribute.has_strategy
