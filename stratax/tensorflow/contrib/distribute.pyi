from stratax.distribute import OneDeviceStrategy as OneDeviceStrategy
from stratax.estimator import DistributeConfig as DistributeConfig
from stratax.tpu import initialize_tpu_system as initialize_tpu_system

from ._strategies import CollectiveAllReduceStrategy as CollectiveAllReduceStrategy
from ._strategies import MirroredStrategy as MirroredStrategy
from ._strategies import ParameterServerStrategy as ParameterServerStrategy
from ._strategies import TPUStrategy as TPUStrategy
