"""`tf.tpu` (tf layer)."""

from stratax.tf._names import missing_name
from stratax.tf.tpu import experimental as experimental

__all__ = [
    "experimental",
]
__getattr__ = missing_name(__name__, __all__)
