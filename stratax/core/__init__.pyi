from stratax.errors import OutOfRangeError as OutOfRangeError

from .autograph._autograph import do_not_convert as do_not_convert
from .autograph._autograph import set_loop_options as set_loop_options
from .control._print import print as print
from .control._range import range as range
from .functions._function import Function as Function
from .functions._function import function as function
from .gradients._gradients import value_and_grad as value_and_grad
from .gradients._tape import GradientTape as GradientTape
from .gradients._tape import UnconnectedGradients as UnconnectedGradients
from .programs._shared import CompiledPrograms as CompiledPrograms
from .regions._stream import Stream as Stream
from .state._variable import Variable as Variable
