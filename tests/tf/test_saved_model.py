"""`tf.saved_model` has TensorFlow's names, with its values and arguments."""

import inspect

import stratax.tf as tf

# Of TensorFlow 2.21.
CONSTANTS = {
    "ASSETS_DIRECTORY": "assets",
    "ASSETS_KEY": "saved_model_assets",
    "CLASSIFY_INPUTS": "inputs",
    "CLASSIFY_METHOD_NAME": "tensorflow/serving/classify",
    "CLASSIFY_OUTPUT_CLASSES": "classes",
    "CLASSIFY_OUTPUT_SCORES": "scores",
    "DEBUG_DIRECTORY": "debug",
    "DEBUG_INFO_FILENAME_PB": "saved_model_debug_info.pb",
    "DEFAULT_SERVING_SIGNATURE_DEF_KEY": "serving_default",
    "GPU": "gpu",
    "PREDICT_INPUTS": "inputs",
    "PREDICT_METHOD_NAME": "tensorflow/serving/predict",
    "PREDICT_OUTPUTS": "outputs",
    "REGRESS_INPUTS": "inputs",
    "REGRESS_METHOD_NAME": "tensorflow/serving/regress",
    "REGRESS_OUTPUTS": "outputs",
    "SAVED_MODEL_FILENAME_PB": "saved_model.pb",
    "SAVED_MODEL_FILENAME_PBTXT": "saved_model.pbtxt",
    "SAVED_MODEL_SCHEMA_VERSION": 1,
    "SERVING": "serve",
    "TPU": "tpu",
    "TRAINING": "train",
    "VARIABLES_DIRECTORY": "variables",
    "VARIABLES_FILENAME": "variables",
}


def test_constants_are_those_of_tensorflow():
    for module in (tf.saved_model, tf.compat.v1.saved_model):
        assert {name: getattr(module, name) for name in dir(module) if name.isupper()} == CONSTANTS


def test_functions_take_the_arguments_of_tensorflow():
    assert list(inspect.signature(tf.saved_model.save).parameters) == [
        "obj",
        "export_dir",
        "signatures",
        "options",
    ]
    assert list(inspect.signature(tf.saved_model.load).parameters) == ["export_dir", "tags", "options"]
    assert tf.compat.v1.saved_model.load_v2 is tf.saved_model.load
    assert not tf.compat.v1.saved_model.maybe_saved_model_directory("/nowhere")
