import jax

import stratax.ops.elementwise
import stratax.ops.linalg
import stratax.ops.random
import stratax.v1.sparse
import stratax.v1.strings
from stratax._version import __version__ as __version__
from stratax.cluster import device as device
from stratax.core import GradientTape as GradientTape
from stratax.core import UnconnectedGradients as UnconnectedGradients
from stratax.core import Variable as Variable
from stratax.core import function as function
from stratax.core import print as print
from stratax.core import range as range
from stratax.core.regions import executing_eagerly as executing_eagerly
from stratax.core.variable_options import VariableAggregation as VariableAggregation
from stratax.core.variable_options import VariableSynchronization as VariableSynchronization
from stratax.data import FixedLenFeature as FixedLenFeature
from stratax.data import FixedLenSequenceFeature as FixedLenSequenceFeature
from stratax.data import SparseTensor as SparseTensor
from stratax.data import TensorShape as TensorShape
from stratax.data import TensorSpec as TensorSpec
from stratax.data import VarLenFeature as VarLenFeature
from stratax.data import decode_csv as decode_csv
from stratax.data import decode_raw as decode_raw
from stratax.data import parse_example as parse_example
from stratax.data import parse_single_example as parse_single_example
from stratax.data import parse_single_sequence_example as parse_single_sequence_example
from stratax.data import parse_tensor as parse_tensor
from stratax.data import serialize_tensor as serialize_tensor
from stratax.image import random_crop as random_crop
from stratax.io.gfile import matching_files as matching_files
from stratax.io.gfile import read_file as read_file
from stratax.io.gfile import write_file as write_file
from stratax.ops.arrays import broadcast_to as broadcast_to
from stratax.ops.arrays import cast as cast
from stratax.ops.arrays import concat as concat
from stratax.ops.arrays import expand_dims as expand_dims
from stratax.ops.arrays import gather as gather
from stratax.ops.arrays import identity as identity
from stratax.ops.arrays import one_hot as one_hot
from stratax.ops.arrays import pad as pad
from stratax.ops.arrays import rank as rank
from stratax.ops.arrays import repeat as repeat
from stratax.ops.arrays import reshape as reshape
from stratax.ops.arrays import reverse as reverse
from stratax.ops.arrays import shape as shape
from stratax.ops.arrays import size as size
from stratax.ops.arrays import split as split
from stratax.ops.arrays import squeeze as squeeze
from stratax.ops.arrays import stack as stack
from stratax.ops.arrays import stop_gradient as stop_gradient
from stratax.ops.arrays import tile as tile
from stratax.ops.arrays import transpose as transpose
from stratax.ops.arrays import unstack as unstack
from stratax.ops.arrays import where as where
from stratax.ops.creation import constant as constant
from stratax.ops.creation import convert_to_tensor as convert_to_tensor
from stratax.ops.creation import eye as eye
from stratax.ops.creation import fill as fill
from stratax.ops.creation import is_tensor as is_tensor
from stratax.ops.creation import linspace as linspace
from stratax.ops.creation import ones as ones
from stratax.ops.creation import ones_like as ones_like
from stratax.ops.creation import zeros as zeros
from stratax.ops.creation import zeros_like as zeros_like
from stratax.ops.dtypes import DType as DType
from stratax.ops.dtypes import as_dtype as as_dtype
from stratax.ops.dtypes import bfloat16 as bfloat16
from stratax.ops.dtypes import bool as bool
from stratax.ops.dtypes import complex64 as complex64
from stratax.ops.dtypes import complex128 as complex128
from stratax.ops.dtypes import double as double
from stratax.ops.dtypes import float16 as float16
from stratax.ops.dtypes import float32 as float32
from stratax.ops.dtypes import float64 as float64
from stratax.ops.dtypes import half as half
from stratax.ops.dtypes import int8 as int8
from stratax.ops.dtypes import int16 as int16
from stratax.ops.dtypes import int32 as int32
from stratax.ops.dtypes import int64 as int64
from stratax.ops.dtypes import string as string
from stratax.ops.dtypes import uint8 as uint8
from stratax.ops.dtypes import uint16 as uint16
from stratax.ops.dtypes import uint32 as uint32
from stratax.ops.dtypes import uint64 as uint64
from stratax.ops.elementwise import abs as abs
from stratax.ops.elementwise import add as add
from stratax.ops.elementwise import clip_by_value as clip_by_value
from stratax.ops.elementwise import cos as cos
from stratax.ops.elementwise import divide as divide
from stratax.ops.elementwise import equal as equal
from stratax.ops.elementwise import exp as exp
from stratax.ops.elementwise import floor as floor
from stratax.ops.elementwise import greater as greater
from stratax.ops.elementwise import greater_equal as greater_equal
from stratax.ops.elementwise import less as less
from stratax.ops.elementwise import less_equal as less_equal
from stratax.ops.elementwise import logical_and as logical_and
from stratax.ops.elementwise import logical_not as logical_not
from stratax.ops.elementwise import logical_or as logical_or
from stratax.ops.elementwise import maximum as maximum
from stratax.ops.elementwise import minimum as minimum
from stratax.ops.elementwise import multiply as multiply
from stratax.ops.elementwise import negative as negative
from stratax.ops.elementwise import not_equal as not_equal
from stratax.ops.elementwise import pow as pow
from stratax.ops.elementwise import round as round
from stratax.ops.elementwise import scalar_mul as scalar_mul
from stratax.ops.elementwise import sigmoid as sigmoid
from stratax.ops.elementwise import sign as sign
from stratax.ops.elementwise import sin as sin
from stratax.ops.elementwise import sqrt as sqrt
from stratax.ops.elementwise import square as square
from stratax.ops.elementwise import subtract as subtract
from stratax.ops.elementwise import tan as tan
from stratax.ops.elementwise import tanh as tanh
from stratax.ops.linalg import clip_by_global_norm as clip_by_global_norm
from stratax.ops.linalg import clip_by_norm as clip_by_norm
from stratax.ops.linalg import einsum as einsum
from stratax.ops.linalg import matmul as matmul
from stratax.ops.linalg import norm as norm
from stratax.ops.linalg import tensordot as tensordot
from stratax.ops.reductions import argmax as argmax
from stratax.ops.reductions import argmin as argmin
from stratax.ops.reductions import cumsum as cumsum
from stratax.ops.reductions import reduce_all as reduce_all
from stratax.ops.reductions import reduce_any as reduce_any
from stratax.ops.reductions import reduce_logsumexp as reduce_logsumexp
from stratax.ops.reductions import reduce_max as reduce_max
from stratax.ops.reductions import reduce_mean as reduce_mean
from stratax.ops.reductions import reduce_min as reduce_min
from stratax.ops.reductions import reduce_prod as reduce_prod
from stratax.ops.reductions import reduce_sum as reduce_sum
from stratax.v1 import AUTO_REUSE as AUTO_REUSE
from stratax.v1 import ConfigProto as ConfigProto
from stratax.v1 import GPUOptions as GPUOptions
from stratax.v1 import GraphKeys as GraphKeys
from stratax.v1 import InteractiveSession as InteractiveSession
from stratax.v1 import Operation as Operation
from stratax.v1 import Print as Print
from stratax.v1 import Session as Session
from stratax.v1 import VariableScope as VariableScope
from stratax.v1 import add_n as add_n
from stratax.v1 import add_to_collection as add_to_collection
from stratax.v1 import add_to_collections as add_to_collections
from stratax.v1 import all_variables as all_variables
from stratax.v1 import assign as assign
from stratax.v1 import assign_add as assign_add
from stratax.v1 import assign_sub as assign_sub
from stratax.v1 import constant_initializer as constant_initializer
from stratax.v1 import control_dependencies as control_dependencies
from stratax.v1 import div as div
from stratax.v1 import get_collection as get_collection
from stratax.v1 import get_collection_ref as get_collection_ref
from stratax.v1 import get_default_graph as get_default_graph
from stratax.v1 import get_default_session as get_default_session
from stratax.v1 import get_local_variable as get_local_variable
from stratax.v1 import get_variable as get_variable
from stratax.v1 import get_variable_scope as get_variable_scope
from stratax.v1 import global_variables as global_variables
from stratax.v1 import global_variables_initializer as global_variables_initializer
from stratax.v1 import glorot_normal_initializer as glorot_normal_initializer
from stratax.v1 import glorot_uniform_initializer as glorot_uniform_initializer
from stratax.v1 import gradients as gradients
from stratax.v1 import group as group
from stratax.v1 import initialize_all_variables as initialize_all_variables
from stratax.v1 import local_variables as local_variables
from stratax.v1 import local_variables_initializer as local_variables_initializer
from stratax.v1 import model_variables as model_variables
from stratax.v1 import moving_average_variables as moving_average_variables
from stratax.v1 import multinomial as multinomial
from stratax.v1 import name_scope as name_scope
from stratax.v1 import no_op as no_op
from stratax.v1 import no_regularizer as no_regularizer
from stratax.v1 import ones_initializer as ones_initializer
from stratax.v1 import orthogonal_initializer as orthogonal_initializer
from stratax.v1 import placeholder as placeholder
from stratax.v1 import placeholder_with_default as placeholder_with_default
from stratax.v1 import random_normal_initializer as random_normal_initializer
from stratax.v1 import random_uniform_initializer as random_uniform_initializer
from stratax.v1 import set_random_seed as set_random_seed
from stratax.v1 import tables_initializer as tables_initializer
from stratax.v1 import to_bfloat16 as to_bfloat16
from stratax.v1 import to_double as to_double
from stratax.v1 import to_float as to_float
from stratax.v1 import to_int32 as to_int32
from stratax.v1 import to_int64 as to_int64
from stratax.v1 import trainable_variables as trainable_variables
from stratax.v1 import truncated_normal_initializer as truncated_normal_initializer
from stratax.v1 import uniform_unit_scaling_initializer as uniform_unit_scaling_initializer
from stratax.v1 import variable_op_scope as variable_op_scope
from stratax.v1 import variable_scope as variable_scope
from stratax.v1 import variables_initializer as variables_initializer
from stratax.v1 import variance_scaling_initializer as variance_scaling_initializer
from stratax.v1 import zeros_initializer as zeros_initializer
from stratax.v1.strings import as_string as as_string
from stratax.v1.strings import regex_replace as regex_replace
from stratax.v1.strings import string_to_hash_bucket as string_to_hash_bucket

from . import app as app
from . import autograph as autograph
from . import compat as compat
from . import config as config
from . import contrib as contrib
from . import data as data
from . import distribute as distribute
from . import dtypes as dtypes
from . import errors as errors
from . import estimator as estimator
from . import feature_column as feature_column
from . import flags as flags
from . import gfile as gfile
from . import image as image
from . import initializers as initializers
from . import io as io
from . import keras as keras
from . import layers as layers
from . import linalg as linalg
from . import logging as logging
from . import lookup as lookup
from . import losses as losses
from . import math as math
from . import metrics as metrics
from . import nest as nest
from . import nn as nn
from . import python_io as python_io
from . import random as random
from . import sparse as sparse
from . import strings as strings
from . import summary as summary
from . import tpu as tpu
from . import train as train

Tensor = jax.Array
ceil = stratax.ops.elementwise.ceil
div_no_nan = stratax.ops.elementwise.divide_no_nan
expm1 = stratax.ops.elementwise.expm1
floordiv = stratax.ops.elementwise.floordiv
floormod = stratax.ops.elementwise.mod
global_norm = stratax.ops.linalg.global_norm
is_finite = stratax.ops.elementwise.is_finite
is_inf = stratax.ops.elementwise.is_inf
is_nan = stratax.ops.elementwise.is_nan
log = stratax.ops.elementwise.log
log1p = stratax.ops.elementwise.log1p
logical_xor = stratax.ops.elementwise.logical_xor
mod = stratax.ops.elementwise.mod
random_normal = stratax.ops.random.normal
random_shuffle = stratax.ops.random.shuffle
random_uniform = stratax.ops.random.uniform
realdiv = stratax.ops.elementwise.divide
reciprocal = stratax.ops.elementwise.reciprocal
rsqrt = stratax.ops.elementwise.rsqrt
squared_difference = stratax.ops.elementwise.squared_difference
sparse_tensor_to_dense = stratax.v1.sparse.to_dense
string_join = stratax.v1.strings.join
string_strip = stratax.v1.strings.strip
string_to_hash_bucket_fast = stratax.v1.strings.to_hash_bucket_fast
string_to_hash_bucket_strong = stratax.v1.strings.to_hash_bucket_strong
string_to_number = stratax.v1.strings.to_number
truediv = stratax.ops.elementwise.divide
truncated_normal = stratax.ops.random.truncated_normal
