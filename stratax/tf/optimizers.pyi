"""`tf.optimizers`: Keras' optimizers; TensorFlow 1's are in `tf.train` (tf layer)."""

from keras.optimizers import *
