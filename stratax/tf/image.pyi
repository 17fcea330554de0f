from stratax.image import *

# Of `tf` itself in TensorFlow.
del saturate_cast
del CombinedNonMaxSuppression
del SampledBox
