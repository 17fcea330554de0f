"""`tf.contrib.tensorrt`: TensorRT's graphs, which are refused (tf layer)."""

from stratax.tensorflow.contrib.tensorrt import *
