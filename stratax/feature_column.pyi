from stratax.tensorflow.feature_column import *
