from stratax.tensorflow.contrib.learn_runner import *
