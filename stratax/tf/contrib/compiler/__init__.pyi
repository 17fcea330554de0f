"""`tf.contrib.compiler`: what asks for XLA (tf layer)."""

from . import jit as jit
from . import xla as xla
