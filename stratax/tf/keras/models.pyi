"""`tf.keras.models`: Keras' models, and how Keras 2 loads them (tf layer)."""

from keras.models import *

from stratax.tensorflow.keras2.layers import model_from_config as model_from_config
