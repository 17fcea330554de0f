from ._coordinator import ClusterCoordinator as ClusterCoordinator
from ._values import PerWorkerValues as PerWorkerValues
from ._values import RemoteValue as RemoteValue
