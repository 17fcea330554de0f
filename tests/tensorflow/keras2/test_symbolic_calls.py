"""Functions of `tf` in functional models: the numbers are TensorFlow 2.15's, with Keras 2."""

import numpy as np
import pytest

import stratax as sx
import stratax.tf as tf

K = tf.keras


def ones(*shape):
    return np.ones(shape, "float32")


def predict(model, *inputs):
    return model.predict(list(inputs) if len(inputs) > 1 else inputs[0], verbose=0)


def test_a_batch_size_in_shapes():
    inputs = K.Input((2, 3))
    batch = tf.shape(inputs)[0]
    model = K.Model(inputs, tf.reshape(inputs, (batch, -1)))
    np.testing.assert_array_equal(predict(model, ones(2, 2, 3)), ones(2, 6))
    wide = tf.zeros([batch, 4]) + tf.reduce_sum(inputs, axis=[1, 2])[:, None]
    model = K.Model(inputs, tf.tile(wide, [1, tf.shape(inputs)[1]]))
    np.testing.assert_array_equal(predict(model, ones(5, 2, 3)), 6 * ones(5, 8))
    assert tuple(model.output_shape) == (None, 8)


def test_makers_of_arrays():
    inputs = K.Input((2,))
    batch = tf.shape(inputs)[0]
    parts = [
        tf.fill([batch, 1], 7.0),
        tf.ones((batch, 1)),
        tf.broadcast_to(tf.constant([[1.0, 2.0]]), [batch, 2]),
        inputs + tf.exp(tf.random.normal(tf.shape(inputs)) * 0.0),
        tf.reshape(inputs, tf.stack([batch, 2, 1]))[:, :, 0],
    ]
    model = K.Model(inputs, tf.concat(parts, -1))
    np.testing.assert_array_equal(predict(model, ones(2, 2)), [[7, 1, 1, 2, 2, 2, 1, 1]] * 2)
    assert tuple(model.output_shape) == (None, 8)


@pytest.mark.parametrize("length", [2, 5])
def test_a_length_that_is_open(length):
    inputs = K.Input((None, 3))
    places = K.layers.Embedding(10, 3, embeddings_initializer="ones")(tf.range(tf.shape(inputs)[1]))
    model = K.Model(inputs, inputs + places)
    np.testing.assert_array_equal(predict(model, ones(1, length, 3)), 2 * ones(1, length, 3))
    words, count = K.Input((None,)), K.Input((), dtype="int32")
    mask = tf.sequence_mask(count, maxlen=tf.shape(words)[1], dtype=tf.float32)
    model = K.Model([words, count], mask * words)
    np.testing.assert_array_equal(predict(model, ones(2, 3), np.array([1, 2])), [[1, 0, 0], [1, 1, 0]])


def test_calculations_with_sizes():
    inputs = K.Input((4, None, 3))
    height, width = tf.shape(inputs)[1], tf.shape(inputs)[2]
    assert height == 4
    doubled = tf.image.resize(inputs, (height * 2, 2 * width + 1 - 1))
    assert predict(K.Model(inputs, doubled), ones(1, 4, 6, 3)).shape == (1, 8, 12, 3)
    halved = inputs[:, :, : width // 2]
    assert predict(K.Model(inputs, tf.identity(halved)), ones(1, 4, 6, 3)).shape == (1, 4, 3, 3)
    values = K.Input((2,))
    mean = tf.reduce_sum(values, axis=1) / tf.cast(tf.shape(values)[0], tf.float32)
    np.testing.assert_array_equal(predict(K.Model(values, mean), ones(4, 2)), [0.5] * 4)
    times = values * tf.cast(tf.size(values), tf.float32)
    np.testing.assert_array_equal(predict(K.Model(values, times), ones(4, 2)), 8 * ones(4, 2))


def test_states_of_a_batch():
    inputs = K.Input((3, 2))
    state = tf.zeros((tf.shape(inputs)[0], 4))
    layer = K.layers.LSTM(4, kernel_initializer="ones", recurrent_initializer="ones")
    model = K.Model(inputs, layer(inputs, initial_state=[state, state]))
    np.testing.assert_allclose(predict(model, ones(1, 3, 2)), [[0.9899] * 4], atol=1e-4)


def test_it_trains_under_a_strategy():
    strategy = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
    losses = []
    for scope in (strategy, tf.distribute.get_strategy()):
        with scope.scope():
            inputs = K.Input((2,))
            bias = tf.ones([tf.shape(inputs)[0], 1])
            model = K.Model(
                inputs, K.layers.Dense(1, kernel_initializer="ones")(tf.concat([inputs, bias], 1))
            )
            model.compile("sgd", "mse")
            losses.append(model.fit(ones(6, 2), ones(6, 1), batch_size=4, verbose=0).history["loss"])
    np.testing.assert_allclose(*losses, rtol=1e-6)


@pytest.mark.parametrize("ending", [".keras", ".h5"])
def test_it_is_saved(tmp_path, ending):
    inputs = K.Input((None, 2))
    batch, length, _ = tf.shape(inputs)
    model = K.Model(inputs, tf.reshape(inputs, [batch, 2 * length]) + tf.zeros([batch, 1]))
    model.save(tmp_path / f"m{ending}")
    again = K.models.load_model(tmp_path / f"m{ending}")
    np.testing.assert_array_equal(predict(again, ones(2, 3, 2)), ones(2, 6))


def test_a_file_names_functions_of_tf_only():
    from stratax.tensorflow.keras2.symbolic_calls import CalledFunction

    for place in ("os:system", "stratax.io.gfile:rmtree", "stratax.tensorflow.ops.nn.nn:_hidden"):
        with pytest.raises(sx.errors.BadArgumentError, match=f"There is no function of tf at '{place}'"):
            CalledFunction(place)


def test_what_can_not_be_known_is_told():
    inputs = K.Input((2,))
    count = tf.cast(tf.reduce_sum(inputs), tf.int32)
    with pytest.raises(Exception, match="must be whole numbers that are known"):
        tf.zeros([count, 2])
