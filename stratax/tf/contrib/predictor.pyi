from stratax.tensorflow.contrib.predictor import *
