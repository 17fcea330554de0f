from stratax.tensorflow.contrib.export_utils import *
