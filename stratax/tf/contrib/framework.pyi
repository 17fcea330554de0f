"""`tf.contrib.layers`, as far as regularizers and initializers go (tf layer)."""

from stratax.checkpoint import list_variables as list_variables
from stratax.checkpoint import load_checkpoint as load_checkpoint
from stratax.checkpoint import load_variable as load_variable
from stratax.tensorflow.contrib.framework import *
from stratax.tensorflow.v1.train import create_global_step as create_global_step
from stratax.tensorflow.v1.train import get_global_step as get_global_step
from stratax.tensorflow.v1.train import get_or_create_global_step as get_or_create_global_step
from stratax.tensorflow.v1.train import init_from_checkpoint as init_from_checkpoint
from stratax.tf import nest as nest
