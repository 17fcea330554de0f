"""`tf.contrib.saved_model`: models of Keras in folders (tf layer)."""

from stratax.tensorflow.contrib._saved_model import load_keras_model as load_keras_model
from stratax.tensorflow.contrib._saved_model import save_keras_model as save_keras_model
