"""`tensorflow.examples`, as far as programs of TensorFlow 1 use it (tf layer)."""

from . import tutorials as tutorials
