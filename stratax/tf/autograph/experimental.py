"""`tf.autograph.experimental` (tf layer)."""

from stratax.core import do_not_convert as do_not_convert
from stratax.tf._names import missing_name

__all__ = [
    "do_not_convert",
]
__getattr__ = missing_name(__name__, __all__)
