import stratax.tensorflow.v1.glimpse
from stratax.tf.image import *

del extract_glimpse

extract_glimpse = stratax.tensorflow.v1.glimpse.extract_glimpse  # type: ignore[assignment]
