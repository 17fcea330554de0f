"""`tf.autograph` (tf layer)."""

from stratax.tf._names import missing_name
from stratax.tf.autograph import experimental as experimental

__all__ = [
    "experimental",
]
__getattr__ = missing_name(__name__, __all__)
