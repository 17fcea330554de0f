import stratax.core.regions
import stratax.errors
import stratax.tensorflow.ops.arrays.arrays
import stratax.tensorflow.ops.arrays.blocks
import stratax.tensorflow.ops.arrays.indexing
import stratax.tensorflow.ops.arrays.ranges
import stratax.tensorflow.ops.calls.creation
import stratax.tensorflow.ops.calls.dtypes
import stratax.tensorflow.ops.math.elementwise
import stratax.tensorflow.ops.math.linalg
import stratax.tensorflow.ops.math.matrices
import stratax.tensorflow.ops.math.solving
import stratax.tensorflow.ops.math.spectra
import stratax.tensorflow.ops.random.random
import stratax.tensorflow.ops.random.stateless
import stratax.tensorflow.ops.signal.fourier
import stratax.tensorflow.ops.text.strings
import stratax.tensorflow.v1.either
import stratax.tensorflow.v1.sparse
import stratax.tf._version
import stratax.v1
from stratax.cluster import device as device
from stratax.core import GradientTape as GradientTape
from stratax.core import UnconnectedGradients as UnconnectedGradients
from stratax.core import Variable as Variable
from stratax.core import function as function
from stratax.core import print as print
from stratax.core.gradients import custom_gradient as custom_gradient
from stratax.core.gradients import grad_pass_through as grad_pass_through
from stratax.core.gradients import recompute_grad as recompute_grad
from stratax.core.regions import OptionalSpec as OptionalSpec
from stratax.core.regions import executing_eagerly as executing_eagerly
from stratax.core.state import IndexedSlices as IndexedSlices
from stratax.core.variable_options import VariableAggregation as VariableAggregation
from stratax.core.variable_options import VariableSynchronization as VariableSynchronization
from stratax.data import FixedLenFeature as FixedLenFeature
from stratax.data import FixedLenSequenceFeature as FixedLenSequenceFeature
from stratax.data import RaggedTensor as RaggedTensor
from stratax.data import RaggedTensorSpec as RaggedTensorSpec
from stratax.data import SparseTensor as SparseTensor
from stratax.data import SparseTensorSpec as SparseTensorSpec
from stratax.data import TensorShape as TensorShape
from stratax.data import TensorSpec as TensorSpec
from stratax.data import VarLenFeature as VarLenFeature
from stratax.data import decode_csv as decode_csv
from stratax.data import decode_json_example as decode_json_example
from stratax.data import decode_raw as decode_raw
from stratax.data import parse_example as parse_example
from stratax.data import parse_single_example as parse_single_example
from stratax.data import parse_single_sequence_example as parse_single_sequence_example
from stratax.data import parse_tensor as parse_tensor
from stratax.data import serialize_tensor as serialize_tensor
from stratax.image import random_crop as random_crop
from stratax.image import saturate_cast as saturate_cast
from stratax.io.gfile import write_file as write_file
from stratax.tensorflow.graph._gradients import hessians as hessians
from stratax.tensorflow.graph._queues import FIFOQueue as FIFOQueue
from stratax.tensorflow.graph._queues import PaddingFIFOQueue as PaddingFIFOQueue
from stratax.tensorflow.graph._queues import QueueBase as QueueBase
from stratax.tensorflow.graph._queues import RandomShuffleQueue as RandomShuffleQueue
from stratax.tensorflow.graph._readers import FixedLengthRecordReader as FixedLengthRecordReader
from stratax.tensorflow.graph._readers import IdentityReader as IdentityReader
from stratax.tensorflow.graph._readers import ReaderBase as ReaderBase
from stratax.tensorflow.graph._readers import TextLineReader as TextLineReader
from stratax.tensorflow.graph._readers import TFRecordReader as TFRecordReader
from stratax.tensorflow.graph._readers import WholeFileReader as WholeFileReader
from stratax.tensorflow.ops.arrays.arrays import broadcast_to as broadcast_to
from stratax.tensorflow.ops.arrays.arrays import cast as cast
from stratax.tensorflow.ops.arrays.arrays import concat as concat
from stratax.tensorflow.ops.arrays.arrays import expand_dims as expand_dims
from stratax.tensorflow.ops.arrays.arrays import gather as gather
from stratax.tensorflow.ops.arrays.arrays import identity as identity
from stratax.tensorflow.ops.arrays.arrays import one_hot as one_hot
from stratax.tensorflow.ops.arrays.arrays import pad as pad
from stratax.tensorflow.ops.arrays.arrays import parallel_stack as parallel_stack
from stratax.tensorflow.ops.arrays.arrays import rank as rank
from stratax.tensorflow.ops.arrays.arrays import repeat as repeat
from stratax.tensorflow.ops.arrays.arrays import reshape as reshape
from stratax.tensorflow.ops.arrays.arrays import reverse as reverse
from stratax.tensorflow.ops.arrays.arrays import shape as shape
from stratax.tensorflow.ops.arrays.arrays import size as size
from stratax.tensorflow.ops.arrays.arrays import split as split
from stratax.tensorflow.ops.arrays.arrays import squeeze as squeeze
from stratax.tensorflow.ops.arrays.arrays import stack as stack
from stratax.tensorflow.ops.arrays.arrays import stop_gradient as stop_gradient
from stratax.tensorflow.ops.arrays.arrays import tile as tile
from stratax.tensorflow.ops.arrays.arrays import transpose as transpose
from stratax.tensorflow.ops.arrays.arrays import unstack as unstack
from stratax.tensorflow.ops.arrays.arrays import where as where
from stratax.tensorflow.ops.arrays.blocks import batch_to_space as batch_to_space
from stratax.tensorflow.ops.arrays.blocks import space_to_batch as space_to_batch
from stratax.tensorflow.ops.arrays.indexing import boolean_mask as boolean_mask
from stratax.tensorflow.ops.arrays.indexing import dynamic_partition as dynamic_partition
from stratax.tensorflow.ops.arrays.indexing import dynamic_stitch as dynamic_stitch
from stratax.tensorflow.ops.arrays.indexing import gather_nd as gather_nd
from stratax.tensorflow.ops.arrays.indexing import meshgrid as meshgrid
from stratax.tensorflow.ops.arrays.indexing import newaxis as newaxis
from stratax.tensorflow.ops.arrays.indexing import reverse_sequence as reverse_sequence
from stratax.tensorflow.ops.arrays.indexing import roll as roll
from stratax.tensorflow.ops.arrays.indexing import scatter_nd as scatter_nd
from stratax.tensorflow.ops.arrays.indexing import sequence_mask as sequence_mask
from stratax.tensorflow.ops.arrays.indexing import slice as slice
from stratax.tensorflow.ops.arrays.indexing import strided_slice as strided_slice
from stratax.tensorflow.ops.arrays.indexing import tensor_scatter_nd_add as tensor_scatter_nd_add
from stratax.tensorflow.ops.arrays.indexing import tensor_scatter_nd_max as tensor_scatter_nd_max
from stratax.tensorflow.ops.arrays.indexing import tensor_scatter_nd_min as tensor_scatter_nd_min
from stratax.tensorflow.ops.arrays.indexing import tensor_scatter_nd_sub as tensor_scatter_nd_sub
from stratax.tensorflow.ops.arrays.indexing import tensor_scatter_nd_update as tensor_scatter_nd_update
from stratax.tensorflow.ops.arrays.indexing import unravel_index as unravel_index
from stratax.tensorflow.ops.arrays.ordering import argsort as argsort
from stratax.tensorflow.ops.arrays.ordering import invert_permutation as invert_permutation
from stratax.tensorflow.ops.arrays.ordering import searchsorted as searchsorted
from stratax.tensorflow.ops.arrays.ordering import setdiff1d as setdiff1d
from stratax.tensorflow.ops.arrays.ordering import sort as sort
from stratax.tensorflow.ops.arrays.ordering import unique as unique
from stratax.tensorflow.ops.arrays.ordering import unique_with_counts as unique_with_counts
from stratax.tensorflow.ops.arrays.ranges import linspace as linspace
from stratax.tensorflow.ops.arrays.ranges import range as range
from stratax.tensorflow.ops.arrays.segments import bincount as bincount
from stratax.tensorflow.ops.arrays.segments import histogram_fixed_width as histogram_fixed_width
from stratax.tensorflow.ops.arrays.segments import histogram_fixed_width_bins as histogram_fixed_width_bins
from stratax.tensorflow.ops.arrays.segments import segment_max as segment_max
from stratax.tensorflow.ops.arrays.segments import segment_mean as segment_mean
from stratax.tensorflow.ops.arrays.segments import segment_min as segment_min
from stratax.tensorflow.ops.arrays.segments import segment_prod as segment_prod
from stratax.tensorflow.ops.arrays.segments import segment_sum as segment_sum
from stratax.tensorflow.ops.arrays.segments import unsorted_segment_max as unsorted_segment_max
from stratax.tensorflow.ops.arrays.segments import unsorted_segment_mean as unsorted_segment_mean
from stratax.tensorflow.ops.arrays.segments import unsorted_segment_min as unsorted_segment_min
from stratax.tensorflow.ops.arrays.segments import unsorted_segment_prod as unsorted_segment_prod
from stratax.tensorflow.ops.arrays.segments import unsorted_segment_sqrt_n as unsorted_segment_sqrt_n
from stratax.tensorflow.ops.arrays.segments import unsorted_segment_sum as unsorted_segment_sum
from stratax.tensorflow.ops.arrays.shapes import broadcast_dynamic_shape as broadcast_dynamic_shape
from stratax.tensorflow.ops.arrays.shapes import broadcast_static_shape as broadcast_static_shape
from stratax.tensorflow.ops.arrays.shapes import ensure_shape as ensure_shape
from stratax.tensorflow.ops.arrays.shapes import identity_n as identity_n
from stratax.tensorflow.ops.arrays.shapes import (
    required_space_to_batch_paddings as required_space_to_batch_paddings,
)
from stratax.tensorflow.ops.arrays.shapes import shape_n as shape_n
from stratax.tensorflow.ops.arrays.static_values import get_static_value as get_static_value
from stratax.tensorflow.ops.arrays.static_values import inside_function as inside_function
from stratax.tensorflow.ops.arrays.static_values import is_symbolic_tensor as is_symbolic_tensor
from stratax.tensorflow.ops.arrays.static_values import tuple as tuple
from stratax.tensorflow.ops.arrays.tensor_array import TensorArray as TensorArray
from stratax.tensorflow.ops.arrays.tensor_class import Tensor as Tensor
from stratax.tensorflow.ops.arrays.tensor_protos import make_ndarray as make_ndarray
from stratax.tensorflow.ops.arrays.tensor_protos import make_tensor_proto as make_tensor_proto
from stratax.tensorflow.ops.arrays.type_specs import type_spec_from_value as type_spec_from_value
from stratax.tensorflow.ops.calls.conversions import (
    register_tensor_conversion_function as register_tensor_conversion_function,
)
from stratax.tensorflow.ops.calls.creation import constant as constant
from stratax.tensorflow.ops.calls.creation import convert_to_tensor as convert_to_tensor
from stratax.tensorflow.ops.calls.creation import eye as eye
from stratax.tensorflow.ops.calls.creation import fill as fill
from stratax.tensorflow.ops.calls.creation import is_tensor as is_tensor
from stratax.tensorflow.ops.calls.creation import ones as ones
from stratax.tensorflow.ops.calls.creation import ones_like as ones_like
from stratax.tensorflow.ops.calls.creation import zeros as zeros
from stratax.tensorflow.ops.calls.creation import zeros_like as zeros_like
from stratax.tensorflow.ops.calls.dtypes import DType as DType
from stratax.tensorflow.ops.calls.dtypes import bfloat16 as bfloat16
from stratax.tensorflow.ops.calls.dtypes import bool as bool
from stratax.tensorflow.ops.calls.dtypes import complex64 as complex64
from stratax.tensorflow.ops.calls.dtypes import complex128 as complex128
from stratax.tensorflow.ops.calls.dtypes import double as double
from stratax.tensorflow.ops.calls.dtypes import float16 as float16
from stratax.tensorflow.ops.calls.dtypes import float32 as float32
from stratax.tensorflow.ops.calls.dtypes import float64 as float64
from stratax.tensorflow.ops.calls.dtypes import half as half
from stratax.tensorflow.ops.calls.dtypes import int8 as int8
from stratax.tensorflow.ops.calls.dtypes import int16 as int16
from stratax.tensorflow.ops.calls.dtypes import int32 as int32
from stratax.tensorflow.ops.calls.dtypes import int64 as int64
from stratax.tensorflow.ops.calls.dtypes import string as string
from stratax.tensorflow.ops.calls.dtypes import uint8 as uint8
from stratax.tensorflow.ops.calls.dtypes import uint16 as uint16
from stratax.tensorflow.ops.calls.dtypes import uint32 as uint32
from stratax.tensorflow.ops.calls.dtypes import uint64 as uint64
from stratax.tensorflow.ops.control.assertions import Assert as Assert
from stratax.tensorflow.ops.control.assertions import assert_equal as assert_equal
from stratax.tensorflow.ops.control.assertions import assert_greater as assert_greater
from stratax.tensorflow.ops.control.assertions import assert_less as assert_less
from stratax.tensorflow.ops.control.assertions import check_numerics as check_numerics
from stratax.tensorflow.ops.control.clock import timestamp as timestamp
from stratax.tensorflow.ops.control.flow import case as case
from stratax.tensorflow.ops.control.flow import cond as cond
from stratax.tensorflow.ops.control.flow import switch_case as switch_case
from stratax.tensorflow.ops.control.flow import while_loop as while_loop
from stratax.tensorflow.ops.control.mapping import foldl as foldl
from stratax.tensorflow.ops.control.mapping import foldr as foldr
from stratax.tensorflow.ops.control.mapping import map_fn as map_fn
from stratax.tensorflow.ops.control.mapping import scan as scan
from stratax.tensorflow.ops.control.mapping import vectorized_map as vectorized_map
from stratax.tensorflow.ops.control.python_calls import numpy_function as numpy_function
from stratax.tensorflow.ops.control.python_calls import py_func as py_func
from stratax.tensorflow.ops.control.python_calls import py_function as py_function
from stratax.tensorflow.ops.control.shape_assertions import assert_integer as assert_integer
from stratax.tensorflow.ops.control.shape_assertions import assert_proper_iterable as assert_proper_iterable
from stratax.tensorflow.ops.control.shape_assertions import assert_rank as assert_rank
from stratax.tensorflow.ops.control.shape_assertions import assert_same_float_dtype as assert_same_float_dtype
from stratax.tensorflow.ops.control.shape_assertions import assert_type as assert_type
from stratax.tensorflow.ops.control.shape_assertions import is_numeric_tensor as is_numeric_tensor
from stratax.tensorflow.ops.control.whole_files import matching_files as matching_files
from stratax.tensorflow.ops.control.whole_files import read_file as read_file
from stratax.tensorflow.ops.math.arithmetic import accumulate_n as accumulate_n
from stratax.tensorflow.ops.math.arithmetic import add_n as add_n
from stratax.tensorflow.ops.math.arithmetic import angle as angle
from stratax.tensorflow.ops.math.arithmetic import complex as complex
from stratax.tensorflow.ops.math.arithmetic import conj as conj
from stratax.tensorflow.ops.math.arithmetic import imag as imag
from stratax.tensorflow.ops.math.arithmetic import is_non_decreasing as is_non_decreasing
from stratax.tensorflow.ops.math.arithmetic import is_strictly_increasing as is_strictly_increasing
from stratax.tensorflow.ops.math.arithmetic import log_sigmoid as log_sigmoid
from stratax.tensorflow.ops.math.arithmetic import real as real
from stratax.tensorflow.ops.math.arithmetic import truncatediv as truncatediv
from stratax.tensorflow.ops.math.arithmetic import truncatemod as truncatemod
from stratax.tensorflow.ops.math.bits import bitcast as bitcast
from stratax.tensorflow.ops.math.elementwise import abs as abs
from stratax.tensorflow.ops.math.elementwise import acos as acos
from stratax.tensorflow.ops.math.elementwise import acosh as acosh
from stratax.tensorflow.ops.math.elementwise import add as add
from stratax.tensorflow.ops.math.elementwise import asin as asin
from stratax.tensorflow.ops.math.elementwise import asinh as asinh
from stratax.tensorflow.ops.math.elementwise import atan as atan
from stratax.tensorflow.ops.math.elementwise import atan2 as atan2
from stratax.tensorflow.ops.math.elementwise import atanh as atanh
from stratax.tensorflow.ops.math.elementwise import clip_by_value as clip_by_value
from stratax.tensorflow.ops.math.elementwise import cos as cos
from stratax.tensorflow.ops.math.elementwise import cosh as cosh
from stratax.tensorflow.ops.math.elementwise import divide as divide
from stratax.tensorflow.ops.math.elementwise import equal as equal
from stratax.tensorflow.ops.math.elementwise import exp as exp
from stratax.tensorflow.ops.math.elementwise import floor as floor
from stratax.tensorflow.ops.math.elementwise import greater as greater
from stratax.tensorflow.ops.math.elementwise import greater_equal as greater_equal
from stratax.tensorflow.ops.math.elementwise import less as less
from stratax.tensorflow.ops.math.elementwise import less_equal as less_equal
from stratax.tensorflow.ops.math.elementwise import logical_and as logical_and
from stratax.tensorflow.ops.math.elementwise import logical_not as logical_not
from stratax.tensorflow.ops.math.elementwise import logical_or as logical_or
from stratax.tensorflow.ops.math.elementwise import maximum as maximum
from stratax.tensorflow.ops.math.elementwise import minimum as minimum
from stratax.tensorflow.ops.math.elementwise import multiply as multiply
from stratax.tensorflow.ops.math.elementwise import negative as negative
from stratax.tensorflow.ops.math.elementwise import not_equal as not_equal
from stratax.tensorflow.ops.math.elementwise import pow as pow
from stratax.tensorflow.ops.math.elementwise import rint as rint
from stratax.tensorflow.ops.math.elementwise import round as round
from stratax.tensorflow.ops.math.elementwise import scalar_mul as scalar_mul
from stratax.tensorflow.ops.math.elementwise import sigmoid as sigmoid
from stratax.tensorflow.ops.math.elementwise import sign as sign
from stratax.tensorflow.ops.math.elementwise import sin as sin
from stratax.tensorflow.ops.math.elementwise import sinh as sinh
from stratax.tensorflow.ops.math.elementwise import sqrt as sqrt
from stratax.tensorflow.ops.math.elementwise import square as square
from stratax.tensorflow.ops.math.elementwise import subtract as subtract
from stratax.tensorflow.ops.math.elementwise import tan as tan
from stratax.tensorflow.ops.math.elementwise import tanh as tanh
from stratax.tensorflow.ops.math.linalg import clip_by_global_norm as clip_by_global_norm
from stratax.tensorflow.ops.math.linalg import clip_by_norm as clip_by_norm
from stratax.tensorflow.ops.math.linalg import einsum as einsum
from stratax.tensorflow.ops.math.linalg import matmul as matmul
from stratax.tensorflow.ops.math.linalg import norm as norm
from stratax.tensorflow.ops.math.linalg import tensordot as tensordot
from stratax.tensorflow.ops.math.reductions import argmax as argmax
from stratax.tensorflow.ops.math.reductions import argmin as argmin
from stratax.tensorflow.ops.math.reductions import count_nonzero as count_nonzero
from stratax.tensorflow.ops.math.reductions import cumprod as cumprod
from stratax.tensorflow.ops.math.reductions import cumsum as cumsum
from stratax.tensorflow.ops.math.reductions import reduce_all as reduce_all
from stratax.tensorflow.ops.math.reductions import reduce_any as reduce_any
from stratax.tensorflow.ops.math.reductions import reduce_logsumexp as reduce_logsumexp
from stratax.tensorflow.ops.math.reductions import reduce_max as reduce_max
from stratax.tensorflow.ops.math.reductions import reduce_mean as reduce_mean
from stratax.tensorflow.ops.math.reductions import reduce_min as reduce_min
from stratax.tensorflow.ops.math.reductions import reduce_prod as reduce_prod
from stratax.tensorflow.ops.math.reductions import reduce_sum as reduce_sum
from stratax.tensorflow.ops.math.special import betainc as betainc
from stratax.tensorflow.ops.math.special import digamma as digamma
from stratax.tensorflow.ops.math.special import erf as erf
from stratax.tensorflow.ops.math.special import erfc as erfc
from stratax.tensorflow.ops.math.special import igamma as igamma
from stratax.tensorflow.ops.math.special import igammac as igammac
from stratax.tensorflow.ops.math.special import lbeta as lbeta
from stratax.tensorflow.ops.math.special import lgamma as lgamma
from stratax.tensorflow.ops.math.special import polygamma as polygamma
from stratax.tensorflow.ops.math.special import zeta as zeta
from stratax.tensorflow.ops.signal.fourier import fft3d as fft3d
from stratax.tensorflow.ops.signal.fourier import ifft3d as ifft3d
from stratax.tensorflow.ops.text.string_parts import string_split as string_split
from stratax.tensorflow.ops.text.strings import as_string as as_string
from stratax.tensorflow.ops.text.strings import regex_replace as regex_replace
from stratax.tensorflow.ops.text.strings import string_to_hash_bucket as string_to_hash_bucket
from stratax.tensorflow.saved_models.loading import GraphDef as GraphDef
from stratax.tensorflow.saved_models.loading import MetaGraphDef as MetaGraphDef
from stratax.tensorflow.saved_models.loading import NodeDef as NodeDef
from stratax.tensorflow.saved_models.loading import import_graph_def as import_graph_def
from stratax.tensorflow.v1.compat import control_flow_v2_enabled as control_flow_v2_enabled
from stratax.tensorflow.v1.compat import dimension_at_index as dimension_at_index
from stratax.tensorflow.v1.compat import dimension_value as dimension_value
from stratax.tensorflow.v1.compat import disable_control_flow_v2 as disable_control_flow_v2
from stratax.tensorflow.v1.compat import disable_eager_execution as disable_eager_execution
from stratax.tensorflow.v1.compat import disable_resource_variables as disable_resource_variables
from stratax.tensorflow.v1.compat import disable_tensor_equality as disable_tensor_equality
from stratax.tensorflow.v1.compat import disable_v2_behavior as disable_v2_behavior
from stratax.tensorflow.v1.compat import disable_v2_tensorshape as disable_v2_tensorshape
from stratax.tensorflow.v1.compat import enable_control_flow_v2 as enable_control_flow_v2
from stratax.tensorflow.v1.compat import enable_eager_execution as enable_eager_execution
from stratax.tensorflow.v1.compat import enable_resource_variables as enable_resource_variables
from stratax.tensorflow.v1.compat import enable_tensor_equality as enable_tensor_equality
from stratax.tensorflow.v1.compat import enable_v2_behavior as enable_v2_behavior
from stratax.tensorflow.v1.compat import enable_v2_tensorshape as enable_v2_tensorshape
from stratax.tensorflow.v1.compat import (
    executing_eagerly_outside_functions as executing_eagerly_outside_functions,
)
from stratax.tensorflow.v1.compat import resource_variables_enabled as resource_variables_enabled
from stratax.tensorflow.v1.functions import assert_greater_equal as assert_greater_equal
from stratax.tensorflow.v1.functions import assert_less_equal as assert_less_equal
from stratax.tensorflow.v1.functions import assert_near as assert_near
from stratax.tensorflow.v1.functions import assert_negative as assert_negative
from stratax.tensorflow.v1.functions import assert_non_negative as assert_non_negative
from stratax.tensorflow.v1.functions import assert_non_positive as assert_non_positive
from stratax.tensorflow.v1.functions import assert_none_equal as assert_none_equal
from stratax.tensorflow.v1.functions import assert_positive as assert_positive
from stratax.tensorflow.v1.functions import assert_rank_at_least as assert_rank_at_least
from stratax.tensorflow.v1.functions import assert_rank_in as assert_rank_in
from stratax.tensorflow.v1.functions import assert_scalar as assert_scalar
from stratax.tensorflow.v1.logging import get_logger as get_logger
from stratax.tf._imports import install_as_tensorflow as install_as_tensorflow
from stratax.tf._imports import load_ipython_extension as load_ipython_extension
from stratax.v1 import AUTO_REUSE as AUTO_REUSE
from stratax.v1 import ConfigProto as ConfigProto
from stratax.v1 import GPUOptions as GPUOptions
from stratax.v1 import Graph as Graph
from stratax.v1 import GraphKeys as GraphKeys
from stratax.v1 import GraphOptions as GraphOptions
from stratax.v1 import InteractiveSession as InteractiveSession
from stratax.v1 import Module as Module
from stratax.v1 import Operation as Operation
from stratax.v1 import OptimizerOptions as OptimizerOptions
from stratax.v1 import Print as Print
from stratax.v1 import RunMetadata as RunMetadata
from stratax.v1 import RunOptions as RunOptions
from stratax.v1 import Session as Session
from stratax.v1 import VariableScope as VariableScope
from stratax.v1 import add_to_collection as add_to_collection
from stratax.v1 import add_to_collections as add_to_collections
from stratax.v1 import all_variables as all_variables
from stratax.v1 import assign as assign
from stratax.v1 import assign_add as assign_add
from stratax.v1 import assign_sub as assign_sub
from stratax.v1 import batch_gather as batch_gather
from stratax.v1 import batch_scatter_update as batch_scatter_update
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
from stratax.v1 import reset_default_graph as reset_default_graph
from stratax.v1 import scatter_add as scatter_add
from stratax.v1 import scatter_div as scatter_div
from stratax.v1 import scatter_max as scatter_max
from stratax.v1 import scatter_min as scatter_min
from stratax.v1 import scatter_mul as scatter_mul
from stratax.v1 import scatter_nd_add as scatter_nd_add
from stratax.v1 import scatter_nd_sub as scatter_nd_sub
from stratax.v1 import scatter_nd_update as scatter_nd_update
from stratax.v1 import scatter_sub as scatter_sub
from stratax.v1 import scatter_update as scatter_update
from stratax.v1 import set_random_seed as set_random_seed
from stratax.v1 import tables_initializer as tables_initializer
from stratax.v1 import to_bfloat16 as to_bfloat16
from stratax.v1 import to_complex64 as to_complex64
from stratax.v1 import to_complex128 as to_complex128
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

from . import app as app
from . import autograph as autograph
from . import bitwise as bitwise
from . import compat as compat
from . import config as config
from . import contrib as contrib
from . import data as data
from . import debugging as debugging
from . import distribute as distribute
from . import dtypes as dtypes
from . import errors as errors
from . import estimator as estimator
from . import examples as examples
from . import experimental as experimental
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
from . import migration as migration
from . import nest as nest
from . import nn as nn
from . import optimizers as optimizers
from . import python_io as python_io
from . import quantization as quantization
from . import queue as queue
from . import ragged as ragged
from . import random as random
from . import saved_model as saved_model
from . import signal as signal
from . import sparse as sparse
from . import strings as strings
from . import summary as summary
from . import sysconfig as sysconfig
from . import test as test
from . import tpu as tpu
from . import train as train
from . import version as version

__version__ = stratax.tf._version.VERSION
ceil = stratax.tensorflow.ops.math.elementwise.ceil
div_no_nan = stratax.tensorflow.ops.math.elementwise.divide_no_nan
expm1 = stratax.tensorflow.ops.math.elementwise.expm1
floordiv = stratax.tensorflow.ops.math.elementwise.floordiv
floormod = stratax.tensorflow.ops.math.elementwise.mod
global_norm = stratax.tensorflow.ops.math.linalg.global_norm
init_scope = stratax.core.regions.outside_scopes
is_finite = stratax.tensorflow.ops.math.elementwise.is_finite
is_inf = stratax.tensorflow.ops.math.elementwise.is_inf
is_nan = stratax.tensorflow.ops.math.elementwise.is_nan
log = stratax.tensorflow.ops.math.elementwise.log
log1p = stratax.tensorflow.ops.math.elementwise.log1p
logical_xor = stratax.tensorflow.ops.math.elementwise.logical_xor
mod = stratax.tensorflow.ops.math.elementwise.mod
random_normal = stratax.tensorflow.ops.random.random.normal
random_shuffle = stratax.tensorflow.ops.random.random.shuffle
random_uniform = stratax.tensorflow.ops.random.random.uniform
realdiv = stratax.tensorflow.ops.math.elementwise.divide
reciprocal = stratax.tensorflow.ops.math.elementwise.reciprocal
rsqrt = stratax.tensorflow.ops.math.elementwise.rsqrt
squared_difference = stratax.tensorflow.ops.math.elementwise.squared_difference
sparse_tensor_to_dense = stratax.tensorflow.v1.sparse.to_dense
string_join = stratax.tensorflow.ops.text.strings.join
string_strip = stratax.tensorflow.ops.text.strings.strip
string_to_hash_bucket_fast = stratax.tensorflow.ops.text.strings.to_hash_bucket_fast
string_to_hash_bucket_strong = stratax.tensorflow.ops.text.strings.to_hash_bucket_strong
string_to_number = stratax.tensorflow.ops.text.strings.to_number
truediv = stratax.tensorflow.ops.math.elementwise.divide
truncated_normal = stratax.tensorflow.ops.random.random.truncated_normal
random_normal_initializer = stratax.tensorflow.v1.either.RandomNormal
random_uniform_initializer = stratax.tensorflow.v1.either.RandomUniform
random_index_shuffle = stratax.tensorflow.ops.random.stateless.index_shuffle
cholesky = stratax.tensorflow.ops.math.solving.cholesky
cholesky_solve = stratax.tensorflow.ops.math.solving.cholesky_solve
cross = stratax.tensorflow.ops.math.matrices.cross
diag = stratax.tensorflow.ops.math.matrices.tensor_diag
diag_part = stratax.tensorflow.ops.math.matrices.tensor_diag_part
matrix_band_part = stratax.tensorflow.ops.math.matrices.band_part
matrix_determinant = stratax.tensorflow.ops.math.solving.det
matrix_diag = stratax.tensorflow.ops.math.matrices.diag
matrix_diag_part = stratax.tensorflow.ops.math.matrices.diag_part
matrix_inverse = stratax.tensorflow.ops.math.solving.inv
matrix_set_diag = stratax.tensorflow.ops.math.matrices.set_diag
matrix_solve = stratax.tensorflow.ops.math.solving.solve
matrix_solve_ls = stratax.tensorflow.ops.math.solving.lstsq
matrix_transpose = stratax.tensorflow.ops.math.matrices.matrix_transpose
matrix_triangular_solve = stratax.tensorflow.ops.math.solving.triangular_solve
qr = stratax.tensorflow.ops.math.spectra.qr
self_adjoint_eig = stratax.tensorflow.ops.math.spectra.eigh
self_adjoint_eigvals = stratax.tensorflow.ops.math.spectra.eigvalsh
svd = stratax.tensorflow.ops.math.spectra.svd
trace = stratax.tensorflow.ops.math.matrices.trace
depth_to_space = stratax.tensorflow.ops.arrays.blocks.depth_to_space
space_to_depth = stratax.tensorflow.ops.arrays.blocks.space_to_depth
fft = stratax.tensorflow.ops.signal.fourier.fft
ifft = stratax.tensorflow.ops.signal.fourier.ifft
fft2d = stratax.tensorflow.ops.signal.fourier.fft2d
ifft2d = stratax.tensorflow.ops.signal.fourier.ifft2d
space_to_batch_nd = stratax.tensorflow.ops.arrays.blocks.space_to_batch
as_dtype = stratax.tensorflow.ops.calls.dtypes.as_tensor_dtype
OpError = stratax.errors.StrataxError
lin_space = stratax.tensorflow.ops.arrays.ranges.linspace
matrix_square_root = stratax.tensorflow.ops.math.spectra.sqrtm
random_gamma = stratax.tensorflow.ops.random.random.gamma
reverse_v2 = stratax.tensorflow.ops.arrays.arrays.reverse
tensor_scatter_add = stratax.tensorflow.ops.arrays.indexing.tensor_scatter_nd_add
tensor_scatter_sub = stratax.tensorflow.ops.arrays.indexing.tensor_scatter_nd_sub
tensor_scatter_update = stratax.tensorflow.ops.arrays.indexing.tensor_scatter_nd_update
where_v2 = stratax.tensorflow.ops.arrays.arrays.where
COMPILER_VERSION = stratax.tf._version.COMPILER_VERSION
GIT_VERSION = stratax.tf._version.GIT_VERSION
VERSION = stratax.tf._version.VERSION
initialize_all_tables = stratax.v1.tables_initializer
initialize_local_variables = stratax.v1.local_variables_initializer
initialize_variables = stratax.v1.variables_initializer
random_poisson = stratax.tensorflow.ops.random.random.poisson
guarantee_const = stratax.tensorflow.ops.arrays.arrays.identity
floor_div = stratax.tensorflow.ops.math.elementwise.floordiv
