from ._compiling import KeepsSlots as KeepsSlots
from ._compiling import Listener as Listener
from ._compiling import Made as Made
from ._compiling import divided_batch as divided_batch
from ._compiling import divided_dim as divided_dim
from ._compiling import is_heard as is_heard
from ._compiling import jit as jit
from ._compiling import listen as listen
