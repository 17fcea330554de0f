"""Recurrent estimators give TensorFlow 2.15's variables, names, metrics and predictions."""

import functools
import pathlib

import keras
import numpy as np
import pytest

import stratax.tf as tf
from stratax import errors
from tests.golden import rnn_cases

GOLDEN = pathlib.Path(__file__).parents[3] / "golden" / "rnn.npz"
CASES = rnn_cases.cases(tf, tf.compat.v1.train.GradientDescentOptimizer)
NUMBER = [tf.feature_column.sequence_numeric_column("number")]
Classifier, Estimator = tf.estimator.experimental.RNNClassifier, tf.estimator.experimental.RNNEstimator


@pytest.fixture(scope="module")
def golden():
    with np.load(GOLDEN) as found:
        return dict(found)


@pytest.mark.parametrize("name", CASES)
def test_training_evaluation_and_prediction_are_tensorflows(tmp_path, golden, monkeypatch, name):
    dense = functools.partial(keras.layers.Dense, kernel_initializer=rnn_cases.first_value)
    monkeypatch.setattr(keras.layers, "Dense", dense)
    make, labels = CASES[name]
    answers = rnn_cases.answers(tf, make, labels, str(tmp_path))
    # The state of dropout's seeds is a variable of Keras 3's cells, also where nothing is dropped.
    found = {key: value for key, value in answers.items() if "seed_generator" not in key}
    wanted = {key.partition("|")[2]: value for key, value in golden.items() if key.partition("|")[0] == name}
    assert sorted(found) == sorted(wanted)
    for key, value in wanted.items():
        if value.dtype.kind == "S":
            assert found[key].astype("S8").tolist() == value.tolist(), key
        else:
            np.testing.assert_allclose(found[key], value, rtol=1e-5, atol=2e-6, err_msg=key)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"units": [3], "rnn_cell_fn": lambda: None}, "units and cell_type must not be specified"),
        ({}, "needs the sizes of its layers"),
        ({"units": [3], "optimizer": "Newton"}, "Unsupported optimizer name"),
        (
            {"units": [3], "return_sequences": True, "weight_column": NUMBER[0]},
            "given by their feature's name",
        ),
    ],
)
def test_arguments_that_do_not_fit_are_refused(arguments, message):
    with pytest.raises((errors.BadArgumentError, errors.BadTypeError), match=message):
        Classifier(NUMBER, **arguments)


def test_cells_without_a_name_are_refused_when_the_model_is_built(tmp_path):
    made = Classifier(NUMBER, units=[3], cell_type="sru", model_dir=str(tmp_path))
    features = {"number": rnn_cases.sparse(tf, rnn_cases.NUMBERS)}
    with pytest.raises(errors.BadArgumentError, match="cell_type must be a class of cells"):
        made.train(lambda: tf.data.Dataset.from_tensors((features, np.zeros((4, 1), int))), steps=1)


def test_logits_of_every_step_need_a_head_of_sequences():
    with pytest.raises(errors.BadArgumentError, match="needs a head of sequences"):
        Estimator(tf.estimator.BinaryClassHead(), NUMBER, units=[3], return_sequences=True)
    with pytest.raises(errors.BadTypeError, match="head must be a head"):
        Estimator("binary", NUMBER, units=[3])
