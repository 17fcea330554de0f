"""`tf.compat.v1.distribute` (tf layer)."""

from stratax.tf.distribute import *

del experimental
from . import experimental as experimental  # type: ignore[no-redef] # noqa: E402
