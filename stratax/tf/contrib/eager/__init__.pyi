from stratax.tensorflow.contrib.eager import *

from . import metrics as metrics
