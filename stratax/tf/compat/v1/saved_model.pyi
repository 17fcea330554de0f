"""`tf.compat.v1.saved_model` (tf layer)."""

import stratax.tensorflow.exports.saved_model
from stratax.tf.saved_model import *

del LoadOptions
del load
load_v2 = stratax.tensorflow.exports.saved_model.load
maybe_saved_model_directory = stratax.tensorflow.exports.saved_model.contains_saved_model
