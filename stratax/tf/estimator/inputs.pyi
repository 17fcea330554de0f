"""`tf.estimator.inputs`: input functions of arrays and tables."""

from stratax.tensorflow.estimator.inputs import *
