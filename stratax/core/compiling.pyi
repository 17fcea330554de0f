from ._compiling import Listener as Listener
from ._compiling import Made as Made
from ._compiling import is_heard as is_heard
from ._compiling import jit as jit
from ._compiling import listen as listen
