"""`tf.autograph.experimental` (tf layer)."""

from stratax.core import do_not_convert as do_not_convert
from stratax.core import set_loop_options as set_loop_options
