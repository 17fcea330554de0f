"""`tf.autograph` (tf layer)."""

from . import experimental as experimental
