"""`tf.experimental` (tf layer)."""

from stratax.core.regions import Optional as Optional
