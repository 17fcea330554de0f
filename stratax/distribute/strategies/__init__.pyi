from stratax.parameter_servers.strategies import (
    ExperimentalParameterServerStrategy as ExperimentalParameterServerStrategy,
)
from stratax.parameter_servers.strategies import ParameterServerStrategy as ParameterServerStrategy
from stratax.parameter_servers.strategies import ParameterServerStrategyV1 as ParameterServerStrategyV1
from stratax.parameter_servers.strategies import RemoteExecution as RemoteExecution

from ._arrangement import ARRANGEMENT as ARRANGEMENT
from ._arrangement import Arrangement as Arrangement
from ._central_storage import CentralStorageStrategy as CentralStorageStrategy
from ._combining import Combiner as Combiner
from ._detect import detect_strategy as detect_strategy
from ._execution import Execution as Execution
from ._execution import ScheduledSteps as ScheduledSteps
from ._execution import StepByStep as StepByStep
from ._execution import workers_of as workers_of
from ._extended import StrategyExtended as StrategyExtended
from ._given_arrays import GivenArrays as GivenArrays
from ._given_arrays import sum_in_parts as sum_in_parts
from ._global_scope import experimental_set_strategy as experimental_set_strategy
from ._in_python import InPython as InPython
from ._layout import ReadyPattern as ReadyPattern
from ._led import run_in_chief as run_in_chief
from ._membership import Alone as Alone
from ._membership import InStep as InStep
from ._membership import OneOfMany as OneOfMany
from ._membership import StrategyMembership as StrategyMembership
from ._mirrored import MirroredStrategy as MirroredStrategy
from ._multi_worker import MultiWorkerMirroredStrategy as MultiWorkerMirroredStrategy
from ._one_device import OneDeviceStrategy as OneDeviceStrategy
from ._one_device import default_strategy as default_strategy
from ._ownership import creating as creating
from ._ownership import list_places as list_places
from ._ownership import make_beside as make_beside
from ._ownership import noting as noting
from ._ownership import own as own
from ._ownership import owner as owner
from ._placement import Placement as Placement
from ._placement import UpdatesOnce as UpdatesOnce
from ._sharded import ShardedStrategy as ShardedStrategy
from ._strategy import Strategy as Strategy
from ._strategy_input import InputOfReplicas as InputOfReplicas
from ._tpu import TPUStrategy as TPUStrategy
