from . import flags as flags
from ._flags import run as run
