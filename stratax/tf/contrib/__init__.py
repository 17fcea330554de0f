"""`tf.contrib`, as far as programs of TensorFlow 1 use it for their input (tf layer)."""

from stratax.tf._names import missing_name
from stratax.tf.contrib import data as data

__all__ = ["data"]
__getattr__ = missing_name(__name__, __all__)
