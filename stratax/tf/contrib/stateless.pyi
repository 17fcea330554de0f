"""`tf.contrib.stateless`: numbers that a seed says (tf layer)."""

import stratax.tensorflow.ops.random.stateless
from stratax.tensorflow.ops.random.stateless import (
    stateless_truncated_normal as stateless_truncated_normal,
)

stateless_multinomial = stratax.tensorflow.ops.random.stateless.stateless_categorical
stateless_random_normal = stratax.tensorflow.ops.random.stateless.stateless_normal
stateless_random_uniform = stratax.tensorflow.ops.random.stateless.stateless_uniform
