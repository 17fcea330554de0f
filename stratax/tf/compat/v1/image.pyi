"""`tf.compat.v1.image`: functions of images with TensorFlow 1's arguments (tf layer)."""

import stratax.tensorflow.v1.glimpse
from stratax.tf.image import *

del extract_glimpse

extract_glimpse = stratax.tensorflow.v1.glimpse.extract_glimpse  # type: ignore[assignment]
