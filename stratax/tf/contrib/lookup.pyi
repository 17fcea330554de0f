from stratax.tensorflow.v1.contrib_lookup import *
