from stratax.tensorflow.contrib.text import *
