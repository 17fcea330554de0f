from stratax.tensorflow.v1.contrib_summary import *
