"""`tf.compat.v1.saved_model` (tf layer)."""

import stratax.tensorflow.exports.saved_model
from stratax.tensorflow.exports.saved_model_names import signature_constants as signature_constants
from stratax.tensorflow.exports.saved_model_names import tag_constants as tag_constants
from stratax.tf.saved_model import *

del LoadOptions
del load
load_v2 = stratax.tensorflow.exports.saved_model.load
maybe_saved_model_directory = stratax.tensorflow.exports.saved_model.contains_saved_model
