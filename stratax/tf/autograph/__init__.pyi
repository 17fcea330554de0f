"""`tf.autograph` (tf layer)."""

from stratax.tensorflow.ops.control.rewriting import set_verbosity as set_verbosity
from stratax.tensorflow.ops.control.rewriting import to_code as to_code
from stratax.tensorflow.ops.control.rewriting import to_graph as to_graph
from stratax.tensorflow.ops.control.rewriting import trace as trace

from . import experimental as experimental
