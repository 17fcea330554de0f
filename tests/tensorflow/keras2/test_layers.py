"""Names of Keras 2 in `tf.keras`: layers, losses, policies, schedules, and what prepares data."""

import keras
import numpy as np
import pytest

import stratax.tf as tf
from stratax import errors


def test_layers_of_images_take_lists():
    image = np.arange(16.0).reshape(4, 4, 1)
    one, two = [[[2.5], [4.5]], [[10.5], [12.5]]], [[[3.5], [5.5]], [[11.5], [13.5]]]
    # As TensorFlow 2.15 gives them.
    assert tf.keras.layers.Resizing(2, 2)([image, image + 1]).tolist() == [one, two]
    assert tf.keras.layers.Resizing(2, 2)(image.tolist()).tolist() == one
    assert tf.keras.layers.CenterCrop(2, 1)(image.tolist()).tolist() == [[[5.0]], [[9.0]]]
    assert tf.keras.layers.CenterCrop(4, 4)([image.tolist()] * 2).shape == (2, 4, 4, 1)


def test_an_input_of_a_tensor_is_the_tensor():
    features = tf.constant([[1.0, 2.0]])
    inputs = tf.keras.layers.Input(tensor=features)
    layer = tf.keras.layers.Dense(1, kernel_initializer="ones")
    assert layer(inputs).tolist() == [[3.0]]
    assert tf.function(lambda x: layer(tf.keras.Input(tensor=2 * x)))(features).tolist() == [[6.0]]
    symbolic = tf.keras.Input((2,), name="x")
    assert tf.keras.Input(tensor=symbolic).shape == symbolic.shape == (None, 2)


def test_layers_give_shapes_that_a_number_of_examples_is_divided_for():
    frames, inputs = 24, tf.keras.Input((24, 4, 4, 2))
    images = tf.keras.layers.Lambda(lambda video: tf.reshape(video, (-1, 4, 4, 2)))(inputs)
    assert images.shape == (None, 4, 4, 2)

    class Videos(tf.keras.layers.Layer):
        def call(self, inputs):
            return tf.reshape(inputs, (-1, frames, 4 * 4 * 2)), tf.reshape(inputs, (frames, -1))

    by_layer, other = Videos()(images)
    by_lambda = tf.keras.layers.Lambda(lambda x: tf.reshape(x, (-1, frames, 32)))(images)
    assert by_layer.shape == by_lambda.shape == (None, frames, 32)
    assert other.shape == (frames, None)
    model = tf.keras.Model(inputs, [by_layer, by_lambda])
    given = np.arange(3 * frames * 32, dtype=np.float32).reshape(3, frames, 4, 4, 2)
    for made in model.predict(given, verbose=0):
        np.testing.assert_array_equal(made, given.reshape(3, frames, 32))


def test_a_lambda_may_use_another_tensor_of_the_model():
    ids, all_ids = tf.keras.Input((1,), dtype="int32"), tf.keras.Input((4,), dtype="int32")
    rows = tf.reduce_mean(tf.keras.layers.Embedding(4, 3)(all_ids), axis=0)
    parts = [rows]
    found = tf.keras.layers.Lambda(lambda x: tf.squeeze(tf.gather(parts[0], x), axis=1))(ids)
    assert found.shape == (None, 3)
    model = tf.keras.Model([ids, all_ids], found)
    (table,) = model.get_weights()
    given = model.predict([np.array([[2], [0]]), np.array([[0, 1, 2, 3]] * 2)], verbose=0)
    np.testing.assert_allclose(given, table[[2, 0]], rtol=1e-6)
    assert tf.keras.layers.Lambda(lambda x: x * 2)(np.array([1.0])).tolist() == [2.0]


def test_shapes_that_no_number_of_examples_has_are_refused():
    inputs = tf.keras.Input((3,))
    with pytest.raises(Exception, match="dynamic_dimension"):
        Odd()(inputs)


class Odd(tf.keras.layers.Layer):
    def call(self, inputs):
        return tf.reshape(inputs, (-1, 17 * 19 * 23))


def test_names_that_have_moved_are_the_classes_of_keras():
    assert tf.keras.optimizers.experimental.SGD is tf.keras.optimizers.legacy.SGD is keras.optimizers.SGD
    assert tf.keras.callbacks.experimental.BackupAndRestore is keras.callbacks.BackupAndRestore
    assert tf.keras.layers.experimental.preprocessing.RandomFlip is keras.layers.RandomFlip
    assert tf.keras.experimental.CosineDecay is keras.optimizers.schedules.CosineDecay
    assert tf.keras.layers.Dense is keras.layers.Dense
    assert tf.keras.layers.experimental.SyncBatchNormalization().synchronized


def test_a_thresholded_relu_is_made_of_its_configuration():
    layer = tf.keras.layers.ThresholdedReLU.from_config(tf.keras.layers.ThresholdedReLU(theta=2).get_config())
    assert layer(np.array([1.0, 2.0, 3.0], np.float32)).tolist() == [0.0, 0.0, 3.0]
    with pytest.raises(errors.BadArgumentError, match="theta"):
        tf.keras.layers.ThresholdedReLU(-1.0)


def test_a_users_cell_runs_in_an_rnn():
    class Sum(tf.keras.layers.AbstractRNNCell):
        @property
        def state_size(self):
            return 1

        @property
        def output_size(self):
            return 1

        def call(self, inputs, states):
            total = states[0] + inputs
            return total, [total]

    assert tf.keras.layers.RNN(Sum())(np.ones((2, 3, 1), np.float32)).tolist() == [[3.0], [3.0]]
    with pytest.raises(NotImplementedError, match="state_size"):
        tf.keras.layers.AbstractRNNCell().state_size  # noqa: B018


def test_a_tokenizer_counts_words():
    tokenizer = tf.keras.preprocessing.text.Tokenizer(num_words=10, oov_token="?")
    tokenizer.fit_on_texts(["a b a", "c a"])
    assert tokenizer.texts_to_sequences(["a c d"]) == [[2, 4, 1]]
    assert tf.keras.preprocessing.sequence.pad_sequences([[1], [2, 3]]).tolist() == [[0, 1], [2, 3]]


def test_an_image_generator_trains_a_model():
    generator = tf.keras.preprocessing.image.ImageDataGenerator(
        rescale=0.5, rotation_range=20, horizontal_flip=True, width_shift_range=0.1, validation_split=0.5
    )
    images, labels = np.ones((8, 4, 4, 3), np.float32), np.zeros(8, np.float32)
    flow = generator.flow(images, labels, batch_size=4, subset="training", seed=1)
    batch, _ = next(iter(flow))
    assert batch.shape == (4, 4, 4, 3)
    assert batch.max() <= 0.5
    model = tf.keras.Sequential([tf.keras.layers.Flatten(), tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    assert len(model.fit(flow, verbose=0).history["loss"]) == 1


def test_a_model_is_made_of_its_configuration():
    model = tf.keras.Sequential([tf.keras.Input((2,)), tf.keras.layers.Dense(3)])
    again = tf.keras.models.model_from_config(keras.saving.serialize_keras_object(model))
    assert again.output_shape == (None, 3)


def test_a_model_for_several_gpus_has_the_layers_of_the_model():
    inputs = tf.keras.Input((2,))
    model = tf.keras.Model(inputs, tf.keras.layers.Dense(1)(inputs))
    with pytest.warns(UserWarning, match="computes on one device"):
        parallel = tf.keras.utils.multi_gpu_model(model, gpus=2)
    parallel.compile("sgd", "mse")
    x, before = np.ones((4, 2), np.float32), model.get_weights()[0]
    parallel.fit(x, np.ones(4), verbose=0)
    assert not np.array_equal(model.get_weights()[0], before)
    np.testing.assert_array_equal(parallel.predict(x, verbose=0), model.predict(x, verbose=0))
    for wrong in (None, 1, [0]):
        with pytest.raises(errors.BadArgumentError, match="gpus >= 2"):
            tf.keras.utils.multi_gpu_model(model, wrong)


def test_ordinal_classes():
    assert tf.keras.utils.to_ordinal([0, 2]).tolist() == [[0.0, 0.0], [1.0, 1.0]]
    assert tf.keras.utils.to_ordinal([[1]], num_classes=4, dtype="int32").tolist() == [[1, 0, 0]]
