import stratax.tensorflow.v1._rules

from ._current import leave_graph as leave_graph
from ._current import leaving_graph as leaving_graph
from ._derivatives import Derivatives as Derivatives
from ._graph import ModelGraph as ModelGraph
from ._graph import placeholder as placeholder
from ._graph import reset_default_graph as reset_default_graph
from ._graph_collections import GraphCollections as GraphCollections
from ._host_features import TraceFeatures as TraceFeatures
from ._metric import MetricValue as MetricValue
from ._saver import HoldsValues as HoldsValues
from ._tensor_names import TensorNames as TensorNames
from ._trace_values import TraceValues as TraceValues
from ._variables import InitializedVariable as InitializedVariable
from ._variables import ModelVariable as ModelVariable
from ._variables import is_local as is_local

rules = stratax.tensorflow.v1._rules
