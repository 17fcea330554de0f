"""`tf.contrib.learn.io`: arrays as input (tf layer)."""

from stratax.tensorflow.estimator.inputs import *
