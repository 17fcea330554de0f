"""`tf.nn.experimental`: dropout by a seed (tf layer)."""

from stratax.tensorflow.ops.nn.dropouts import general_dropout as general_dropout
from stratax.tensorflow.ops.nn.dropouts import stateless_dropout as stateless_dropout
