"""`tf.io.gfile`: files by patterns of names (tf layer)."""

from stratax.data import glob as glob
from stratax.tf._names import missing_name

__all__ = ["glob"]
__getattr__ = missing_name(__name__, __all__)
