from ._parameter_server import (
    ExperimentalParameterServerStrategy as ExperimentalParameterServerStrategy,
)
from ._parameter_server import ParameterServerStrategy as ParameterServerStrategy
from ._parameter_server import ParameterServerStrategyV1 as ParameterServerStrategyV1
from ._remote_execution import RemoteExecution as RemoteExecution
