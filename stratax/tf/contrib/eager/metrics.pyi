from stratax.tensorflow.contrib.eager_metrics import *
