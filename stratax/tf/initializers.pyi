"""`tf.initializers`: TensorFlow 1's initializers, and those of Keras (tf layer)."""

from keras.initializers import *

import stratax.tensorflow.v1.either
from stratax.tensorflow.v1.initializers import *

del random_normal
del random_uniform
del truncated_normal
random_normal = stratax.tensorflow.v1.either.RandomNormal  # type: ignore[misc]
random_uniform = stratax.tensorflow.v1.either.RandomUniform  # type: ignore[misc]
truncated_normal = stratax.tensorflow.v1.either.TruncatedNormal  # type: ignore[misc]
