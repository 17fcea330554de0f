"""`tf.contrib.slim.nets.inception`: Inception V3 (tf layer)."""

from stratax.tensorflow.contrib._inception import inception_v3 as inception_v3
from stratax.tensorflow.contrib._inception import inception_v3_arg_scope as inception_v3_arg_scope
from stratax.tensorflow.contrib._inception import inception_v3_base as inception_v3_base
