from stratax.errors import OutOfRangeError as OutOfRangeError

from ._autograph import do_not_convert as do_not_convert
from ._autograph import set_loop_options as set_loop_options
from ._function import Function as Function
from ._function import function as function
from ._gradients import value_and_grad as value_and_grad
from ._print import print as print
from ._range import range as range
from ._shared import CompiledPrograms as CompiledPrograms
from ._stream import Stream as Stream
from ._tape import GradientTape as GradientTape
from ._tape import UnconnectedGradients as UnconnectedGradients
from ._variable import Variable as Variable
