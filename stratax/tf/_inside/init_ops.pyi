"""What programs import of `tensorflow.python.ops.init_ops` (tf layer)."""

import stratax.tensorflow.v1
from stratax.tensorflow.v1 import constant_initializer as constant_initializer
from stratax.tensorflow.v1 import glorot_normal_initializer as glorot_normal_initializer
from stratax.tensorflow.v1 import glorot_uniform_initializer as glorot_uniform_initializer
from stratax.tensorflow.v1 import ones_initializer as ones_initializer
from stratax.tensorflow.v1 import orthogonal_initializer as orthogonal_initializer
from stratax.tensorflow.v1 import random_normal_initializer as random_normal_initializer
from stratax.tensorflow.v1 import random_uniform_initializer as random_uniform_initializer
from stratax.tensorflow.v1 import truncated_normal_initializer as truncated_normal_initializer
from stratax.tensorflow.v1 import uniform_unit_scaling_initializer as uniform_unit_scaling_initializer
from stratax.tensorflow.v1 import variance_scaling_initializer as variance_scaling_initializer
from stratax.tensorflow.v1 import zeros_initializer as zeros_initializer

Constant = stratax.tensorflow.v1.constant_initializer
GlorotNormal = stratax.tensorflow.v1.glorot_normal_initializer
GlorotUniform = stratax.tensorflow.v1.glorot_uniform_initializer
Ones = stratax.tensorflow.v1.ones_initializer
Orthogonal = stratax.tensorflow.v1.orthogonal_initializer
RandomNormal = stratax.tensorflow.v1.random_normal_initializer
RandomUniform = stratax.tensorflow.v1.random_uniform_initializer
TruncatedNormal = stratax.tensorflow.v1.truncated_normal_initializer
VarianceScaling = stratax.tensorflow.v1.variance_scaling_initializer
Zeros = stratax.tensorflow.v1.zeros_initializer
glorot_normal = stratax.tensorflow.v1.glorot_normal_initializer
glorot_uniform = stratax.tensorflow.v1.glorot_uniform_initializer
