"""SDCA learns what TensorFlow 2.15's does: the same steps of single examples, and the same optimum of batches."""

import pathlib

import numpy as np
import pytest

import stratax as sx
import stratax.tf as tf
from stratax import errors
from stratax.tensorflow.estimator.canned import _sdca
from tests.golden import sdca_cases
from tests.stressed import but

GOLDEN = pathlib.Path(__file__).parents[3] / "golden" / "sdca.npz"
LinearSDCA = tf.estimator.experimental.LinearSDCA
COLUMNS = [tf.feature_column.numeric_column("x", shape=(2,))]


@pytest.fixture
def small_table(monkeypatch):
    """Has the table room for few examples: every step and checkpoint copies it."""
    monkeypatch.setattr(_sdca, "_ROWS", 64)


# Each loss with each regularization, steps and ends: the others repeat these.
QUICK = {
    "classifier first",
    "classifier shrunk end",
    "regressor",
    "regressor partitions",
    "regressor adaptive end",
}


@pytest.mark.usefixtures("small_table")
@pytest.mark.parametrize("name", but(lambda name: name in QUICK, sdca_cases.CASES))
def test_training_is_tensorflows(tmp_path, name):
    found = sdca_cases.answers(tf, name, str(tmp_path))
    with np.load(GOLDEN) as golden:
        wanted = {key.partition("|")[2]: golden[key] for key in golden if key.partition("|")[0] == name}
    for key, value in wanted.items():
        np.testing.assert_allclose(found[key], value, rtol=1e-5, atol=1e-5, err_msg=key)


def regressor(folder, strategy=None, **options):
    config = tf.estimator.RunConfig(str(folder), train_distribute=strategy)
    return tf.estimator.LinearRegressor(COLUMNS, config=config, optimizer=LinearSDCA("id", **options))


def data(size=8):
    examples = sdca_cases.FEATURES, sdca_cases.NUMBERS
    return tf.data.Dataset.from_tensor_slices(examples).batch(size).repeat()


def test_there_is_room_for_a_million_examples(tmp_path):
    made = regressor(tmp_path)
    made.train(data, steps=1)
    assert made.get_variable_value("linear/sdca_examples").shape == (2**20, 2)


@pytest.mark.usefixtures("small_table")
def test_a_training_that_goes_on_knows_its_examples(tmp_path):
    whole, parts = regressor(tmp_path / "whole"), regressor(tmp_path / "parts")
    whole.train(lambda: data(1), steps=48)
    # Each begins with the first example.
    parts.train(lambda: data(1), steps=24)
    parts.train(lambda: data(1), steps=24)
    for name in ("x/weights", "bias_weights"):
        name = f"linear/linear_model/{name}"
        np.testing.assert_array_equal(parts.get_variable_value(name), whole.get_variable_value(name))


def test_a_full_table_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(_sdca, "_ROWS", 23)
    regressor(tmp_path / "shards", num_table_shards=2).train(data, steps=3)
    with pytest.raises(errors.BadArgumentError, match="table of examples is full"):
        regressor(tmp_path / "one").train(data, steps=3)


def test_every_example_has_a_row_of_its_own(tmp_path, monkeypatch):
    monkeypatch.setattr(_sdca, "_ROWS", 24)
    made = regressor(tmp_path)
    made.train(data, steps=9)
    words = made.get_variable_value("linear/sdca_examples")
    assert len(np.unique(words, axis=0)) == 24
    assert made.get_variable_value("linear/sdca_sums")[0] == 24


@pytest.mark.usefixtures("small_table")
def test_several_replicas_are_refused(tmp_path):
    strategy = sx.distribute.MirroredStrategy(["cpu:0", "cpu:1"])
    with pytest.raises(errors.BadArgumentError, match="LinearSDCA takes one example after the other"):
        regressor(tmp_path, strategy).train(data, steps=1)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LinearSDCA("id", symmetric_l2_regularization=0.0), "symmetric_l2_regularization must be"),
        (lambda: LinearSDCA("id", symmetric_l1_regularization=-1), "symmetric_l1_regularization must be"),
        (
            lambda: tf.estimator.LinearClassifier(COLUMNS, n_classes=3, optimizer=LinearSDCA("id")),
            "classifiers of two classes",
        ),
        (
            lambda: tf.estimator.LinearRegressor(COLUMNS, label_dimension=2, optimizer=LinearSDCA("id")),
            "predicts one number",
        ),
        (
            lambda: tf.estimator.LinearRegressor(COLUMNS, sparse_combiner="mean", optimizer=LinearSDCA("id")),
            "sparse_combiner='sum'",
        ),
    ],
)
def test_what_it_cannot_train_is_refused(make, message):
    with pytest.raises(errors.BadArgumentError, match=message):
        make()


@pytest.mark.usefixtures("small_table")
def test_names_of_examples_are_strings(tmp_path):
    with pytest.raises(errors.BadTypeError, match="knows examples by strings"):
        regressor(tmp_path).train(lambda: data().map(lambda x, y: ({**x, "id": x["w"]}, y)), steps=1)


def test_labels_are_numbers(tmp_path):
    made = tf.estimator.LinearClassifier(
        COLUMNS, str(tmp_path), label_vocabulary=["a", "b"], optimizer=LinearSDCA("id")
    )
    with pytest.raises(errors.BadArgumentError, match="labels that are numbers"):
        made.train(
            lambda: tf.data.Dataset.from_tensors(
                ({"id": np.array(["1", "2"]), "x": np.zeros((2, 2))}, np.array(["a", "b"]))
            ),
            steps=1,
        )
