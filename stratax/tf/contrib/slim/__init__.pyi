"""`tf.contrib.slim`: contrib's layers, scopes, variables and losses under one name (tf layer)."""

from stratax.tensorflow.contrib.framework import *
from stratax.tensorflow.contrib.layers import *
from stratax.tensorflow.v1.train import get_global_step as get_global_step
from stratax.tensorflow.v1.train import get_or_create_global_step as get_or_create_global_step

from . import learning as learning
from . import losses as losses
from . import metrics as metrics
from . import nets as nets
from . import parallel_reader as parallel_reader
from . import utils as utils
