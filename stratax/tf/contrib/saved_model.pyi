from stratax.tensorflow.contrib.saved_model import *
