"""`tf.image`, with what TensorFlow 1 had under other names (tf layer)."""

from stratax.image import *

# Of `tf` itself in TensorFlow.
del saturate_cast
del CombinedNonMaxSuppression
del SampledBox
