from .cluster import DeviceAssignment as DeviceAssignment
from .cluster import DeviceOrderMode as DeviceOrderMode
from .cluster import TPUClusterResolver as TPUClusterResolver
from .cluster import initialize_tpu_system as initialize_tpu_system
from .cluster import shutdown_tpu_system as shutdown_tpu_system
from .distribute import TPUStrategy as TPUStrategy
from .rehearsal import abstract_variables as abstract_variables
from .rehearsal import compile as compile
