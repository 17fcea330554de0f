from keras.initializers import *

import stratax.v1.either
from stratax.v1.initializers import *

del random_normal
del random_uniform
del truncated_normal
random_normal = stratax.v1.either.RandomNormal  # type: ignore[misc]
random_uniform = stratax.v1.either.RandomUniform  # type: ignore[misc]
truncated_normal = stratax.v1.either.TruncatedNormal  # type: ignore[misc]
