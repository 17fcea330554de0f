from stratax.tensorflow.contrib.datasets import *
