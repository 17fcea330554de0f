"""How a stateful Python function becomes a pure JAX program. Knows no strategy."""

from stratax.core import _convolutions, _pooling
from stratax.core._autograph import do_not_convert as do_not_convert
from stratax.core._function import Function as Function
from stratax.core._function import function as function
from stratax.core._gradients import value_and_grad as value_and_grad
from stratax.core._print import print as print
from stratax.core._range import range as range
from stratax.core._stream import Stream as Stream
from stratax.core._tape import GradientTape as GradientTape
from stratax.core._tape import UnconnectedGradients as UnconnectedGradients
from stratax.core._variable import Variable as Variable
from stratax.errors import OutOfRangeError as OutOfRangeError

_convolutions.install()
_pooling.install()

__all__ = [
    "Function",
    "GradientTape",
    "OutOfRangeError",
    "Stream",
    "UnconnectedGradients",
    "Variable",
    "do_not_convert",
    "function",
    "print",
    "range",
    "value_and_grad",
]
