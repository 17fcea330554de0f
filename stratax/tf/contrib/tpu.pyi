from stratax.tensorflow.contrib.keras_tpu import *
from stratax.tensorflow.estimator.tpu import *
