from . import jit as jit
from . import xla as xla
