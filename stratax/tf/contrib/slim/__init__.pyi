"""`tf.contrib.slim`: contrib's layers, scopes, variables and losses under one name (tf layer)."""

from stratax.tf.contrib.framework import *
from stratax.tf.contrib.layers import *

from . import learning as learning
from . import losses as losses
from . import metrics as metrics
from . import nets as nets
from . import parallel_reader as parallel_reader
from . import utils as utils

del create_global_step
del init_from_checkpoint
del list_variables
del load_checkpoint
del load_variable
del nest
