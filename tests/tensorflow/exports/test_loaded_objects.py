"""Functions, attributes and models are loaded as what they were, and trained further."""

import keras
import numpy as np
import pytest

import stratax.tf as tf
from stratax import errors
from tests.tensorflow.exports.test_saved_objects import Scale, Two, X, model_of_numbers, reloaded


@pytest.fixture(scope="module")
def scale(tmp_path_factory):
    folder = tmp_path_factory.mktemp("scale") / "saved"
    module = Scale()
    module(tf.constant(0.0))
    module(tf.constant([1.0, 2.0]), by=3)
    tf.saved_model.save(module, folder)
    return folder


def test_functions_are_loaded_for_all_that_they_were_traced_for(scale):
    loaded = tf.saved_model.load(scale)
    assert float(loaded(tf.constant(3.0))) == 3.0
    assert loaded(tf.constant([3.0, 4.0]), by=3).tolist() == [9.0, 12.0]
    assert float(loaded(3)) == 3.0, "A number becomes the tensor that it was saved for."
    assert len(loaded.signatures) == 0, "None of the functions is the only one."
    with pytest.raises(
        errors.BadTypeError, match=r"was not saved for these arguments. Expected: \(x=TensorSpec"
    ):
        loaded(tf.constant([3.0, 4.0]))
    with pytest.raises(errors.BadTypeError, match="does not take these arguments: missing"):
        loaded()


def test_a_function_that_was_loaded_changes_variables(scale):
    loaded = tf.saved_model.load(scale)
    assert loaded.mutate(tf.constant(5.0)) is None
    assert float(loaded.v.numpy()) == 5.0
    assert float(loaded(tf.constant(2.0))) == 10.0
    found = loaded.table([[1, 2]])
    np.testing.assert_array_equal(found["rows"], [[25.0, 50.0]])
    total, (frozen, three, none) = found["parts"]
    assert (float(total), frozen.tolist(), int(three), none) == (75.0, [1.0, 2.0], 3, None)
    assert isinstance(found["parts"], tuple)
    other = tf.saved_model.load(scale)
    assert float(other.v.numpy()) == 1.0


def test_attributes_are_loaded_with_their_structure(scale):
    loaded = tf.saved_model.load(scale)
    assert [type(each) for each in loaded.many] == [type(loaded.v), dict]
    assert loaded.many[1]["b"].numpy().tolist() == [True]
    assert loaded.child.parent is loaded
    assert not loaded.child.frozen.trainable
    assert len(loaded.variables) == 4
    assert len(loaded.trainable_variables) == 3
    assert loaded.non_trainable_variables == [loaded.child.frozen]
    assert not hasattr(loaded, "number")


@pytest.mark.parametrize(
    "kind",
    [
        "mirrored",
        *(pytest.param(each, marks=pytest.mark.stress) for each in ("central storage", "one device")),
    ],
)
def test_a_loaded_function_runs_in_the_replicas_of_another_strategy(kind, tmp_path):
    model = model_of_numbers()
    tf.saved_model.save(model, tmp_path / "saved")
    strategy = {
        "mirrored": lambda: tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"]),
        "central storage": lambda: tf.distribute.experimental.CentralStorageStrategy(["/cpu:0", "/cpu:1"]),
        "one device": lambda: tf.distribute.OneDeviceStrategy("/cpu:1"),
    }[kind]()
    with strategy.scope():
        loaded = tf.saved_model.load(tmp_path / "saved")
        predict = loaded.signatures["serving_default"]
        dataset = strategy.experimental_distribute_dataset(tf.data.Dataset.from_tensor_slices(X).batch(6))
        for batch in dataset:
            found = strategy.run(predict, args=(batch,))
            in_function = tf.function(lambda batch: strategy.run(loaded, args=(batch,)))(batch)
    expected = model.predict(X, verbose=0)
    for each in (found["output_0"], in_function):
        parts = strategy.experimental_local_results(each)
        np.testing.assert_allclose(np.concatenate(parts), expected, atol=1e-6)


@pytest.mark.stress
def test_a_loaded_model_is_trained_further_as_the_model_is(tmp_path):
    model = model_of_numbers()
    loaded = reloaded(model, tmp_path)

    def step(variables, call, optimizer):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(call(X) ** 2)
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        return float(loss)

    here = keras.optimizers.SGD(0.1)
    expected = [step(model.trainable_variables, lambda x: model(x, training=False), here) for _ in range(3)]
    there = keras.optimizers.SGD(0.1)
    found = [step(loaded.trainable_variables, loaded, there) for _ in range(2)]
    in_function = tf.function(lambda: loaded.signatures["serving_default"](X)["output_0"])
    found.append(step(loaded.trainable_variables, lambda x: in_function(), there))
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_what_is_no_saved_model_is_told(tmp_path, scale):
    assert tf.saved_model.contains_saved_model(scale)
    assert tf.saved_model.contains_saved_model(str(scale).encode())
    assert float(tf.saved_model.load(str(scale).encode()).v.numpy()) == 1.0
    assert not tf.saved_model.contains_saved_model(tmp_path)
    with pytest.raises(errors.FileMissingError, match="There is no saved model at"):
        tf.saved_model.load(tmp_path / "none")
    (tmp_path / "saved_model.pbtxt").write_bytes(b"")
    with pytest.raises(errors.UnimplementedError, match=r"written by TensorFlow.*saved_model\.pb"):
        tf.saved_model.load(tmp_path)
    model_of_numbers().save(tmp_path / "keras")
    with pytest.raises(errors.UnimplementedError, match=r"as Keras saves it.*tf\.keras\.models\.load_model"):
        tf.saved_model.load(tmp_path / "keras")


def test_a_loaded_function_is_differentiated(tmp_path):
    loaded = reloaded(Two(), tmp_path)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(loaded.dotted([1.0, 2.0], 3)["out"])
    assert float(tape.gradient(loss, loaded.v)) == 9.0
