"""`tf.compat.v1.saved_model` (tf layer)."""

import stratax.tensorflow.exports.saved_model_names
import stratax.tensorflow.saved_models.loader
import stratax.tensorflow.saved_models.loading
from stratax.tf.saved_model import *

del LoadOptions
del load
signature_constants = stratax.tensorflow.exports.saved_model_names
tag_constants = stratax.tensorflow.exports.saved_model_names
load_v2 = stratax.tensorflow.saved_models.loading.load
maybe_saved_model_directory = stratax.tensorflow.saved_models.loading.contains_saved_model
loader = stratax.tensorflow.saved_models.loader
load = stratax.tensorflow.saved_models.loading.load_into_session  # type: ignore[assignment]
