from stratax.tf.train import *
from stratax.v1.train import *
