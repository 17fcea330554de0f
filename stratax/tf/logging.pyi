from stratax.tensorflow.v1.logging import *

del get_logger
