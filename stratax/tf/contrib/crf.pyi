from stratax.tensorflow.contrib.crf import *
