"""`tf.saved_model` has TensorFlow's names, with its values and arguments."""

import inspect
import pathlib
import random
import shutil

import keras
import numpy as np

import stratax.tf as tf
from tests.damage import damaged
from tests.golden import conversion_cases

CONVERSIONS = pathlib.Path(__file__).parents[1] / "golden" / "conversions"

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


def test_weights_of_a_damaged_saved_model_are_right_or_refused(tmp_path):
    rng, found = random.Random(4), []
    model = conversion_cases.model(keras)
    model.load_weights(str(CONVERSIONS / "keras2_saved"))
    wanted = [np.array(weight) for weight in model.weights]
    for number in range(100):
        folder = tmp_path / str(number)
        shutil.copytree(CONVERSIONS / "keras2_saved", folder)
        how = damaged(folder, rng)
        if not (folder / "saved_model.pb").is_file():
            # To Keras that is a file of no format that it knows.
            continue
        for weight in model.weights:
            weight.assign(np.zeros(weight.shape))
        try:
            model.load_weights(str(folder))
        except (tf.errors.DataLossError, tf.errors.NotFoundError):
            found.append("told")
            continue
        found.append("right")
        for weight, expected in zip(model.weights, wanted, strict=True):
            np.testing.assert_array_equal(weight, expected, err_msg=how)
    assert min(found.count("told"), found.count("right")) > 20
