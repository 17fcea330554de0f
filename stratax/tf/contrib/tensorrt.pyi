"""`tf.contrib.tensorrt`: TensorRT's graphs, which are refused (tf layer)."""

from stratax.tensorflow.contrib._refused import create_inference_graph as create_inference_graph
