import stratax.tensorflow.v1._collections
import stratax.tensorflow.v1._graph
import stratax.tensorflow.v1._initializers
import stratax.tensorflow.v1._variables
from stratax.tensorflow.graph import Graph as Graph
from stratax.tensorflow.graph import InteractiveSession as InteractiveSession
from stratax.tensorflow.graph import Session as Session
from stratax.tensorflow.graph import get_default_session as get_default_session
from stratax.tensorflow.graph import placeholder as placeholder
from stratax.tensorflow.graph import placeholder_with_default as placeholder_with_default
from stratax.tensorflow.graph import reset_default_graph as reset_default_graph

from . import contrib_layers as contrib_layers
from . import contrib_lookup as contrib_lookup
from . import contrib_metrics as contrib_metrics
from . import contrib_opt as contrib_opt
from . import contrib_summary as contrib_summary
from . import functions as functions
from . import initializers as initializers
from . import layers as layers
from . import logging as logging
from . import losses as losses
from . import metrics as metrics
from . import nn as nn
from . import rnn_cell as rnn_cell
from . import sparse as sparse
from . import summary as summary
from . import train as train
from ._collections import GraphKeys as GraphKeys
from ._collections import add_to_collection as add_to_collection
from ._collections import add_to_collections as add_to_collections
from ._collections import get_collection as get_collection
from ._collections import get_collection_ref as get_collection_ref
from ._collections import global_variables as global_variables
from ._collections import global_variables_initializer as global_variables_initializer
from ._collections import gradients as gradients
from ._collections import local_variables as local_variables
from ._collections import local_variables_initializer as local_variables_initializer
from ._collections import model_variables as model_variables
from ._collections import moving_average_variables as moving_average_variables
from ._collections import tables_initializer as tables_initializer
from ._collections import trainable_variables as trainable_variables
from ._collections import variables_initializer as variables_initializer
from ._current import current as current
from ._current import current_or_none as current_or_none
from ._current import entering as entering
from ._current import reading as reading
from ._derivatives import DerivativesError as DerivativesError
from ._functions import batch_gather as batch_gather
from ._functions import div as div
from ._functions import multinomial as multinomial
from ._functions import to_bfloat16 as to_bfloat16
from ._functions import to_complex64 as to_complex64
from ._functions import to_complex128 as to_complex128
from ._functions import to_double as to_double
from ._functions import to_float as to_float
from ._functions import to_int32 as to_int32
from ._functions import to_int64 as to_int64
from ._graph import ConfigProto as ConfigProto
from ._graph import OptimizerOptions as OptimizerOptions
from ._graph import Print as Print
from ._graph import RunMetadata as RunMetadata
from ._graph import RunOptions as RunOptions
from ._graph import get_default_graph as get_default_graph
from ._graph import no_regularizer as no_regularizer
from ._graph import set_random_seed as set_random_seed
from ._host import ByRow as ByRow
from ._host import Compute as Compute
from ._host import HostInputs as HostInputs
from ._host import HostResult as HostResult
from ._host import HostTensor as HostTensor
from ._host import HostTrace as HostTrace
from ._host import after_step as after_step
from ._host import values_after_step as values_after_step
from ._model_state import ModelState as ModelState
from ._module import Module as Module
from ._operation import Operation as Operation
from ._operations import assign as assign
from ._operations import assign_add as assign_add
from ._operations import assign_sub as assign_sub
from ._operations import control_dependencies as control_dependencies
from ._operations import group as group
from ._operations import no_op as no_op
from ._scatters import batch_scatter_update as batch_scatter_update
from ._scatters import scatter_add as scatter_add
from ._scatters import scatter_div as scatter_div
from ._scatters import scatter_max as scatter_max
from ._scatters import scatter_min as scatter_min
from ._scatters import scatter_mul as scatter_mul
from ._scatters import scatter_nd_add as scatter_nd_add
from ._scatters import scatter_nd_sub as scatter_nd_sub
from ._scatters import scatter_nd_update as scatter_nd_update
from ._scatters import scatter_sub as scatter_sub
from ._scatters import scatter_update as scatter_update
from ._scope import ModelScope as ModelScope
from ._variable_defaults import AUTO_REUSE as AUTO_REUSE
from ._variable_defaults import VariableScope as VariableScope
from ._variable_scope import get_local_variable as get_local_variable
from ._variable_scope import get_variable as get_variable
from ._variable_scope import get_variable_scope as get_variable_scope
from ._variable_scope import name_scope as name_scope
from ._variable_scope import variable_op_scope as variable_op_scope
from ._variable_scope import variable_scope as variable_scope

GPUOptions = stratax.tensorflow.v1._graph.ConfigProto
GraphOptions = stratax.tensorflow.v1._graph.ConfigProto
Variable = stratax.tensorflow.v1._variables.ModelVariable
all_variables = stratax.tensorflow.v1._collections.global_variables
initialize_all_variables = stratax.tensorflow.v1._collections.global_variables_initializer
constant_initializer = stratax.tensorflow.v1._initializers.Constant
glorot_normal_initializer = stratax.tensorflow.v1._initializers.GlorotNormal
glorot_uniform_initializer = stratax.tensorflow.v1._initializers.GlorotUniform
ones_initializer = stratax.tensorflow.v1._initializers.Ones
orthogonal_initializer = stratax.tensorflow.v1._initializers.Orthogonal
random_normal_initializer = stratax.tensorflow.v1._initializers.RandomNormal
random_uniform_initializer = stratax.tensorflow.v1._initializers.RandomUniform
truncated_normal_initializer = stratax.tensorflow.v1._initializers.TruncatedNormal
uniform_unit_scaling_initializer = stratax.tensorflow.v1._initializers.UniformUnitScaling
variance_scaling_initializer = stratax.tensorflow.v1._initializers.VarianceScaling
zeros_initializer = stratax.tensorflow.v1._initializers.Zeros
