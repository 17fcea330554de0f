"""`tf.contrib.framework`: argument scopes, variables of a model, checkpoints (tf layer)."""

import stratax.tensorflow.ops.arrays.static_values
import stratax.tensorflow.ops.control.flow
from stratax.checkpoint import list_variables as list_variables
from stratax.checkpoint import load_checkpoint as load_checkpoint
from stratax.checkpoint import load_variable as load_variable
from stratax.tensorflow.contrib._arg_scope import add_arg_scope as add_arg_scope
from stratax.tensorflow.contrib._arg_scope import arg_scope as arg_scope
from stratax.tensorflow.contrib._arg_scope import arg_scope_func_key as arg_scope_func_key
from stratax.tensorflow.contrib._arg_scope import arg_scoped_arguments as arg_scoped_arguments
from stratax.tensorflow.contrib._arg_scope import current_arg_scope as current_arg_scope
from stratax.tensorflow.contrib._arg_scope import has_arg_scope as has_arg_scope
from stratax.tensorflow.contrib._variables import add_model_variable as add_model_variable
from stratax.tensorflow.contrib._variables import assign_from_checkpoint as assign_from_checkpoint
from stratax.tensorflow.contrib._variables import assign_from_checkpoint_fn as assign_from_checkpoint_fn
from stratax.tensorflow.contrib._variables import assign_from_values as assign_from_values
from stratax.tensorflow.contrib._variables import filter_variables as filter_variables
from stratax.tensorflow.contrib._variables import get_local_variables as get_local_variables
from stratax.tensorflow.contrib._variables import get_model_variables as get_model_variables
from stratax.tensorflow.contrib._variables import get_trainable_variables as get_trainable_variables
from stratax.tensorflow.contrib._variables import get_unique_variable as get_unique_variable
from stratax.tensorflow.contrib._variables import get_variable_full_name as get_variable_full_name
from stratax.tensorflow.contrib._variables import get_variables as get_variables
from stratax.tensorflow.contrib._variables import get_variables_by_name as get_variables_by_name
from stratax.tensorflow.contrib._variables import get_variables_by_suffix as get_variables_by_suffix
from stratax.tensorflow.contrib._variables import get_variables_to_restore as get_variables_to_restore
from stratax.tensorflow.contrib._variables import model_variable as model_variable
from stratax.tensorflow.contrib._variables import variable as variable
from stratax.tensorflow.ops.arrays.ordering import argsort as argsort
from stratax.tensorflow.ops.arrays.ordering import sort as sort
from stratax.tensorflow.ops.calls.creation import is_tensor as is_tensor
from stratax.tensorflow.ops.control.python_calls import py_func as py_func
from stratax.tensorflow.v1.train import create_global_step as create_global_step
from stratax.tensorflow.v1.train import get_global_step as get_global_step
from stratax.tensorflow.v1.train import get_or_create_global_step as get_or_create_global_step
from stratax.tensorflow.v1.train import init_from_checkpoint as init_from_checkpoint
from stratax.tf import nest as nest

smart_cond = stratax.tensorflow.ops.control.flow.cond
smart_constant_value = stratax.tensorflow.ops.arrays.static_values.get_static_value
