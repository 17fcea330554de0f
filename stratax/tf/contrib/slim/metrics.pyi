from stratax.tensorflow.v1.contrib_metrics import *
