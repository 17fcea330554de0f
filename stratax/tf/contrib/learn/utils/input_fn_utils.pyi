from stratax.tensorflow.contrib.input_fn_utils import *
