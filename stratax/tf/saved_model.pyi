"""`tf.saved_model` (tf layer)."""

from stratax.tensorflow.exports.saved_model import LoadOptions as LoadOptions
from stratax.tensorflow.exports.saved_model import SaveOptions as SaveOptions
from stratax.tensorflow.exports.saved_model import save as save
from stratax.tensorflow.exports.saved_model_names import ASSETS_DIRECTORY as ASSETS_DIRECTORY
from stratax.tensorflow.exports.saved_model_names import ASSETS_KEY as ASSETS_KEY
from stratax.tensorflow.exports.saved_model_names import CLASSIFY_INPUTS as CLASSIFY_INPUTS
from stratax.tensorflow.exports.saved_model_names import CLASSIFY_METHOD_NAME as CLASSIFY_METHOD_NAME
from stratax.tensorflow.exports.saved_model_names import CLASSIFY_OUTPUT_CLASSES as CLASSIFY_OUTPUT_CLASSES
from stratax.tensorflow.exports.saved_model_names import CLASSIFY_OUTPUT_SCORES as CLASSIFY_OUTPUT_SCORES
from stratax.tensorflow.exports.saved_model_names import DEBUG_DIRECTORY as DEBUG_DIRECTORY
from stratax.tensorflow.exports.saved_model_names import DEBUG_INFO_FILENAME_PB as DEBUG_INFO_FILENAME_PB
from stratax.tensorflow.exports.saved_model_names import (
    DEFAULT_SERVING_SIGNATURE_DEF_KEY as DEFAULT_SERVING_SIGNATURE_DEF_KEY,
)
from stratax.tensorflow.exports.saved_model_names import GPU as GPU
from stratax.tensorflow.exports.saved_model_names import PREDICT_INPUTS as PREDICT_INPUTS
from stratax.tensorflow.exports.saved_model_names import PREDICT_METHOD_NAME as PREDICT_METHOD_NAME
from stratax.tensorflow.exports.saved_model_names import PREDICT_OUTPUTS as PREDICT_OUTPUTS
from stratax.tensorflow.exports.saved_model_names import REGRESS_INPUTS as REGRESS_INPUTS
from stratax.tensorflow.exports.saved_model_names import REGRESS_METHOD_NAME as REGRESS_METHOD_NAME
from stratax.tensorflow.exports.saved_model_names import REGRESS_OUTPUTS as REGRESS_OUTPUTS
from stratax.tensorflow.exports.saved_model_names import SAVED_MODEL_FILENAME_PB as SAVED_MODEL_FILENAME_PB
from stratax.tensorflow.exports.saved_model_names import (
    SAVED_MODEL_FILENAME_PBTXT as SAVED_MODEL_FILENAME_PBTXT,
)
from stratax.tensorflow.exports.saved_model_names import (
    SAVED_MODEL_SCHEMA_VERSION as SAVED_MODEL_SCHEMA_VERSION,
)
from stratax.tensorflow.exports.saved_model_names import SERVING as SERVING
from stratax.tensorflow.exports.saved_model_names import TPU as TPU
from stratax.tensorflow.exports.saved_model_names import TRAINING as TRAINING
from stratax.tensorflow.exports.saved_model_names import VARIABLES_DIRECTORY as VARIABLES_DIRECTORY
from stratax.tensorflow.exports.saved_model_names import VARIABLES_FILENAME as VARIABLES_FILENAME
from stratax.tensorflow.saved_models.loading import contains_saved_model as contains_saved_model
from stratax.tensorflow.saved_models.loading import load as load
