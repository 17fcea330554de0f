"""`tf.contrib.nn`: functions of layers (tf layer)."""

from stratax.tensorflow.ops.nn.convolutions import conv1d_transpose as conv1d_transpose
