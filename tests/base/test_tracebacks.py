"""Errors that leave the library show the lines of the user's program."""

import traceback

import jax
import jax.numpy as jnp
import keras
import numpy as np
import pytest

import stratax as sx
import stratax.tf as tf
from stratax import errors
from stratax.base import tracebacks


def failing(x):
    return jnp.matmul(x, jnp.ones((3, 4)))


def lines_of(error):
    return [frame.name for frame in traceback.extract_tb(error.__traceback__)]


def test_an_error_in_a_replica_shows_the_users_lines_only():
    strategy = sx.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])

    @sx.function
    def train(x):
        return strategy.run(failing, args=(x,))

    with pytest.raises(TypeError, match="contracting dimensions") as caught:
        train(jnp.ones((5, 7)))
    assert lines_of(caught.value) == [
        "test_an_error_in_a_replica_shows_the_users_lines_only",
        "train",
        "failing",
    ]
    assert len("".join(traceback.format_exception(caught.value)).splitlines()) <= 15
    assert sum("JAX_TRACEBACK_FILTERING=off" in note for note in caught.value.__notes__) == 1
    with pytest.raises(TypeError, match="contracting dimensions") as caught:
        strategy.run(failing, args=(jnp.ones((5, 7)),))
    assert lines_of(caught.value) == [
        "test_an_error_in_a_replica_shows_the_users_lines_only",
        "failing",
    ]


@pytest.fixture
def unfiltered():
    before = jax.config.jax_traceback_filtering
    jax.config.update("jax_traceback_filtering", "off")
    yield
    jax.config.update("jax_traceback_filtering", before)


@pytest.mark.usefixtures("unfiltered")
def test_the_switch_of_jax_shows_all_frames():
    with pytest.raises(TypeError, match="contracting dimensions") as caught:
        sx.function(failing)(jnp.ones((5, 7)))
    assert "__call__" in lines_of(caught.value)


def test_an_error_of_keras_in_fit_shows_the_users_lines_and_what_it_came_from():
    class Model(keras.Model):
        def call(self, x):
            return failing(x)

    with sx.distribute.OneDeviceStrategy("/cpu:0").scope():
        model = Model()
        model.compile("sgd", "mse")
    with pytest.raises(RuntimeError, match="automatically build") as caught:
        model.fit(jnp.ones((8, 2)), jnp.ones((8, 1)), verbose=0)
    assert len(lines_of(caught.value)) == 1
    assert lines_of(caught.value.__context__) == ["call", "failing"]


def test_an_error_of_ours_shows_the_call_and_one_that_may_be_a_mistake_of_ours_shows_all(monkeypatch):
    def raise_(error):
        raise error

    function = sx.function(lambda x: x)
    monkeypatch.setattr(tracebacks, "_is_library", lambda filename: True)
    monkeypatch.setattr(function, "_find", lambda *_: raise_(errors.StrategyError("of ours")))
    with pytest.raises(errors.StrategyError, match="of ours") as caught:
        function(1.0)
    assert len(lines_of(caught.value)) == 1
    monkeypatch.setattr(function, "_find", lambda *_: raise_(AttributeError("a mistake")))
    with pytest.raises(AttributeError, match="a mistake") as caught:
        function(1.0)
    assert lines_of(caught.value)[-1] == "raise_"


def test_an_error_of_ours_has_no_note_about_frames():
    for function in (tf.matmul, tf.function(tf.matmul)):
        with pytest.raises(errors.BadArgumentError, match="contracting dimensions") as caught:
            function(tf.ones([2, 3]), tf.ones([2, 3]))
        assert lines_of(caught.value) == ["test_an_error_of_ours_has_no_note_about_frames"]
        notes = [*getattr(caught.value, "__notes__", []), *getattr(caught.value.__cause__, "__notes__", [])]
        assert notes == []


def parse(x):
    return tf.reshape(x, [28, 28])


@pytest.mark.parametrize("distribute", [False, True])
def test_an_error_of_a_pipeline_shows_the_users_lines_only(distribute):
    dataset = tf.data.Dataset.from_tensor_slices(np.ones((4, 3))).map(parse).batch(2)
    if distribute:
        strategy = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
        dataset = strategy.experimental_distribute_dataset(dataset)
    with pytest.raises(ValueError, match="cannot reshape") as caught:
        next(iter(dataset))
    assert lines_of(caught.value) == ["test_an_error_of_a_pipeline_shows_the_users_lines_only", "parse"]
    dataset = tf.data.TFRecordDataset("/nowhere/file")
    with pytest.raises(tf.errors.NotFoundError) as caught:
        for _ in dataset:
            pass
    assert len(lines_of(caught.value)) == 1


def test_an_error_that_passes_through_several_functions_of_the_library_is_shortened_once_more():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    with pytest.raises(ValueError, match="cardinality") as caught:
        model.fit(np.ones([8, 4]), np.ones([7]), workers=2, verbose=0)
    assert len(lines_of(caught.value)) == 1


def model_fn(features, labels, mode):
    return tf.reshape(features, [3, -1])


def test_an_error_of_a_model_fn_shows_the_users_lines_only(tmp_path):
    estimator = tf.estimator.Estimator(model_fn, tmp_path)
    with pytest.raises(errors.BadArgumentError, match="reshape") as caught:
        estimator.train(lambda: tf.data.Dataset.from_tensor_slices(np.ones((4, 2), np.float32)).batch(2))
    assert lines_of(caught.value) == ["test_an_error_of_a_model_fn_shows_the_users_lines_only", "model_fn"]
