"""`tf.math` (tf layer)."""

from stratax.tf._arrays import top_k as top_k
from stratax.tf._elementwise import abs as abs
from stratax.tf._elementwise import add as add
from stratax.tf._elementwise import atan2 as atan2
from stratax.tf._elementwise import ceil as ceil
from stratax.tf._elementwise import cos as cos
from stratax.tf._elementwise import divide as divide
from stratax.tf._elementwise import divide_no_nan as divide_no_nan
from stratax.tf._elementwise import equal as equal
from stratax.tf._elementwise import exp as exp
from stratax.tf._elementwise import expm1 as expm1
from stratax.tf._elementwise import floor as floor
from stratax.tf._elementwise import floordiv as floordiv
from stratax.tf._elementwise import greater as greater
from stratax.tf._elementwise import greater_equal as greater_equal
from stratax.tf._elementwise import is_finite as is_finite
from stratax.tf._elementwise import is_inf as is_inf
from stratax.tf._elementwise import is_nan as is_nan
from stratax.tf._elementwise import less as less
from stratax.tf._elementwise import less_equal as less_equal
from stratax.tf._elementwise import log as log
from stratax.tf._elementwise import log1p as log1p
from stratax.tf._elementwise import logical_and as logical_and
from stratax.tf._elementwise import logical_not as logical_not
from stratax.tf._elementwise import logical_or as logical_or
from stratax.tf._elementwise import logical_xor as logical_xor
from stratax.tf._elementwise import maximum as maximum
from stratax.tf._elementwise import minimum as minimum
from stratax.tf._elementwise import mod as mod
from stratax.tf._elementwise import multiply as multiply
from stratax.tf._elementwise import negative as negative
from stratax.tf._elementwise import not_equal as not_equal
from stratax.tf._elementwise import pow as pow
from stratax.tf._elementwise import reciprocal as reciprocal
from stratax.tf._elementwise import round as round
from stratax.tf._elementwise import rsqrt as rsqrt
from stratax.tf._elementwise import sigmoid as sigmoid
from stratax.tf._elementwise import sign as sign
from stratax.tf._elementwise import sin as sin
from stratax.tf._elementwise import sqrt as sqrt
from stratax.tf._elementwise import square as square
from stratax.tf._elementwise import squared_difference as squared_difference
from stratax.tf._elementwise import subtract as subtract
from stratax.tf._elementwise import tan as tan
from stratax.tf._elementwise import tanh as tanh
from stratax.tf._losses import softplus as softplus
from stratax.tf._names import missing_name
from stratax.tf._reductions import argmax as argmax
from stratax.tf._reductions import argmin as argmin
from stratax.tf._reductions import cumsum as cumsum
from stratax.tf._reductions import reduce_all as reduce_all
from stratax.tf._reductions import reduce_any as reduce_any
from stratax.tf._reductions import reduce_logsumexp as reduce_logsumexp
from stratax.tf._reductions import reduce_max as reduce_max
from stratax.tf._reductions import reduce_mean as reduce_mean
from stratax.tf._reductions import reduce_min as reduce_min
from stratax.tf._reductions import reduce_prod as reduce_prod
from stratax.tf._reductions import reduce_std as reduce_std
from stratax.tf._reductions import reduce_sum as reduce_sum
from stratax.tf._reductions import reduce_variance as reduce_variance

__all__ = [
    "abs",
    "add",
    "argmax",
    "argmin",
    "atan2",
    "ceil",
    "cos",
    "cumsum",
    "divide",
    "divide_no_nan",
    "equal",
    "exp",
    "expm1",
    "floor",
    "floordiv",
    "greater",
    "greater_equal",
    "is_finite",
    "is_inf",
    "is_nan",
    "less",
    "less_equal",
    "log",
    "log1p",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "mod",
    "multiply",
    "negative",
    "not_equal",
    "pow",
    "reciprocal",
    "reduce_all",
    "reduce_any",
    "reduce_logsumexp",
    "reduce_max",
    "reduce_mean",
    "reduce_min",
    "reduce_prod",
    "reduce_std",
    "reduce_sum",
    "reduce_variance",
    "round",
    "rsqrt",
    "sigmoid",
    "sign",
    "sin",
    "softplus",
    "sqrt",
    "square",
    "squared_difference",
    "subtract",
    "tan",
    "tanh",
    "top_k",
]
__getattr__ = missing_name(__name__, __all__)
