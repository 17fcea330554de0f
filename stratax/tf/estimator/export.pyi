"""`tf.estimator.export`: what exports take and give (tf layer)."""

from stratax.tensorflow.estimator.export import *
