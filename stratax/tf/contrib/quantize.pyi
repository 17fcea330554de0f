"""`tf.contrib.quantize`: graphs with whole numbers, which are refused (tf layer)."""

from stratax.tensorflow.contrib._refused import create_eval_graph as create_eval_graph
from stratax.tensorflow.contrib._refused import create_training_graph as create_training_graph
from stratax.tensorflow.contrib._refused import (
    experimental_create_eval_graph as experimental_create_eval_graph,
)
from stratax.tensorflow.contrib._refused import (
    experimental_create_training_graph as experimental_create_training_graph,
)
