"""TensorFlow's names for what Stratax does: `import stratax.tf as tf` (tf layer).

A program that was written for TensorFlow finds the same things in the same places; `docs/compatibility.md` lists what
is different. Nothing here has a logic of its own: strategies, Datasets, `function` and `GradientTape` are those of
`stratax`, `tf.keras` is Keras 3, and array functions are `keras.ops` under TensorFlow's names and arguments.

A tensor is a `jax.Array`. Array functions that make sense in an input pipeline answer NumPy arrays with NumPy arrays,
on the host, so that the functions given to `Dataset.map` start no device; everything else computes on a device.
"""

import keras as keras
from jax import Array as Tensor

from stratax._version import __version__ as __version__
from stratax.cluster import device as device
from stratax.core import GradientTape as GradientTape
from stratax.core import UnconnectedGradients as UnconnectedGradients
from stratax.core import Variable as Variable
from stratax.core import function as function
from stratax.core import print as print
from stratax.core import range as range
from stratax.data import TensorSpec as TensorSpec
from stratax.tf import autograph as autograph
from stratax.tf import config as config
from stratax.tf import data as data
from stratax.tf import distribute as distribute
from stratax.tf import dtypes as dtypes
from stratax.tf import errors as errors
from stratax.tf import linalg as linalg
from stratax.tf import math as math
from stratax.tf import nest as nest
from stratax.tf import nn as nn
from stratax.tf import random as random
from stratax.tf import tpu as tpu
from stratax.tf._arrays import broadcast_to as broadcast_to
from stratax.tf._arrays import cast as cast
from stratax.tf._arrays import concat as concat
from stratax.tf._arrays import einsum as einsum
from stratax.tf._arrays import expand_dims as expand_dims
from stratax.tf._arrays import gather as gather
from stratax.tf._arrays import identity as identity
from stratax.tf._arrays import matmul as matmul
from stratax.tf._arrays import one_hot as one_hot
from stratax.tf._arrays import rank as rank
from stratax.tf._arrays import repeat as repeat
from stratax.tf._arrays import reshape as reshape
from stratax.tf._arrays import reverse as reverse
from stratax.tf._arrays import shape as shape
from stratax.tf._arrays import size as size
from stratax.tf._arrays import split as split
from stratax.tf._arrays import squeeze as squeeze
from stratax.tf._arrays import stack as stack
from stratax.tf._arrays import stop_gradient as stop_gradient
from stratax.tf._arrays import tensordot as tensordot
from stratax.tf._arrays import tile as tile
from stratax.tf._arrays import transpose as transpose
from stratax.tf._arrays import unstack as unstack
from stratax.tf._arrays import where as where
from stratax.tf._clipping import clip_by_global_norm as clip_by_global_norm
from stratax.tf._clipping import clip_by_norm as clip_by_norm
from stratax.tf._context import executing_eagerly as executing_eagerly
from stratax.tf._creation import constant as constant
from stratax.tf._creation import convert_to_tensor as convert_to_tensor
from stratax.tf._creation import eye as eye
from stratax.tf._creation import fill as fill
from stratax.tf._creation import is_tensor as is_tensor
from stratax.tf._creation import linspace as linspace
from stratax.tf._creation import ones as ones
from stratax.tf._creation import ones_like as ones_like
from stratax.tf._creation import zeros as zeros
from stratax.tf._creation import zeros_like as zeros_like
from stratax.tf._dtypes import DType as DType
from stratax.tf._dtypes import as_dtype as as_dtype
from stratax.tf._dtypes import bfloat16 as bfloat16
from stratax.tf._dtypes import bool as bool
from stratax.tf._dtypes import complex64 as complex64
from stratax.tf._dtypes import complex128 as complex128
from stratax.tf._dtypes import double as double
from stratax.tf._dtypes import float16 as float16
from stratax.tf._dtypes import float32 as float32
from stratax.tf._dtypes import float64 as float64
from stratax.tf._dtypes import half as half
from stratax.tf._dtypes import int8 as int8
from stratax.tf._dtypes import int16 as int16
from stratax.tf._dtypes import int32 as int32
from stratax.tf._dtypes import int64 as int64
from stratax.tf._dtypes import uint8 as uint8
from stratax.tf._dtypes import uint16 as uint16
from stratax.tf._dtypes import uint32 as uint32
from stratax.tf._dtypes import uint64 as uint64
from stratax.tf._elementwise import abs as abs
from stratax.tf._elementwise import add as add
from stratax.tf._elementwise import clip_by_value as clip_by_value
from stratax.tf._elementwise import cos as cos
from stratax.tf._elementwise import divide as divide
from stratax.tf._elementwise import equal as equal
from stratax.tf._elementwise import exp as exp
from stratax.tf._elementwise import floor as floor
from stratax.tf._elementwise import greater as greater
from stratax.tf._elementwise import greater_equal as greater_equal
from stratax.tf._elementwise import less as less
from stratax.tf._elementwise import less_equal as less_equal
from stratax.tf._elementwise import logical_and as logical_and
from stratax.tf._elementwise import logical_not as logical_not
from stratax.tf._elementwise import logical_or as logical_or
from stratax.tf._elementwise import maximum as maximum
from stratax.tf._elementwise import minimum as minimum
from stratax.tf._elementwise import multiply as multiply
from stratax.tf._elementwise import negative as negative
from stratax.tf._elementwise import not_equal as not_equal
from stratax.tf._elementwise import pow as pow
from stratax.tf._elementwise import round as round
from stratax.tf._elementwise import sigmoid as sigmoid
from stratax.tf._elementwise import sign as sign
from stratax.tf._elementwise import sin as sin
from stratax.tf._elementwise import sqrt as sqrt
from stratax.tf._elementwise import square as square
from stratax.tf._elementwise import subtract as subtract
from stratax.tf._elementwise import tan as tan
from stratax.tf._elementwise import tanh as tanh
from stratax.tf._names import missing_name
from stratax.tf._reductions import argmax as argmax
from stratax.tf._reductions import argmin as argmin
from stratax.tf._reductions import cumsum as cumsum
from stratax.tf._reductions import norm as norm
from stratax.tf._reductions import reduce_all as reduce_all
from stratax.tf._reductions import reduce_any as reduce_any
from stratax.tf._reductions import reduce_logsumexp as reduce_logsumexp
from stratax.tf._reductions import reduce_max as reduce_max
from stratax.tf._reductions import reduce_mean as reduce_mean
from stratax.tf._reductions import reduce_min as reduce_min
from stratax.tf._reductions import reduce_prod as reduce_prod
from stratax.tf._reductions import reduce_sum as reduce_sum
from stratax.tf._variables import VariableAggregation as VariableAggregation
from stratax.tf._variables import VariableSynchronization as VariableSynchronization

__all__ = [
    "DType",
    "GradientTape",
    "Tensor",
    "TensorSpec",
    "UnconnectedGradients",
    "Variable",
    "VariableAggregation",
    "VariableSynchronization",
    "__version__",
    "abs",
    "add",
    "argmax",
    "argmin",
    "as_dtype",
    "autograph",
    "bfloat16",
    "bool",
    "broadcast_to",
    "cast",
    "clip_by_global_norm",
    "clip_by_norm",
    "clip_by_value",
    "complex64",
    "complex128",
    "concat",
    "config",
    "constant",
    "convert_to_tensor",
    "cos",
    "cumsum",
    "data",
    "device",
    "distribute",
    "divide",
    "double",
    "dtypes",
    "einsum",
    "equal",
    "errors",
    "executing_eagerly",
    "exp",
    "expand_dims",
    "eye",
    "fill",
    "float16",
    "float32",
    "float64",
    "floor",
    "function",
    "gather",
    "greater",
    "greater_equal",
    "half",
    "identity",
    "int8",
    "int16",
    "int32",
    "int64",
    "is_tensor",
    "keras",
    "less",
    "less_equal",
    "linalg",
    "linspace",
    "logical_and",
    "logical_not",
    "logical_or",
    "math",
    "matmul",
    "maximum",
    "minimum",
    "multiply",
    "negative",
    "nest",
    "nn",
    "norm",
    "not_equal",
    "one_hot",
    "ones",
    "ones_like",
    "pow",
    "print",
    "random",
    "range",
    "rank",
    "reduce_all",
    "reduce_any",
    "reduce_logsumexp",
    "reduce_max",
    "reduce_mean",
    "reduce_min",
    "reduce_prod",
    "reduce_sum",
    "repeat",
    "reshape",
    "reverse",
    "round",
    "shape",
    "sigmoid",
    "sign",
    "sin",
    "size",
    "split",
    "sqrt",
    "square",
    "squeeze",
    "stack",
    "stop_gradient",
    "subtract",
    "tan",
    "tanh",
    "tensordot",
    "tile",
    "tpu",
    "transpose",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "unstack",
    "where",
    "zeros",
    "zeros_like",
]
__getattr__ = missing_name(__name__, __all__)
