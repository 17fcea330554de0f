"""Crossentropies of an activation's output are TensorFlow's where the model is surely wrong."""

import gc
import weakref

import jax.numpy as jnp
import keras
import numpy as np
import pytest

import stratax.tf as tf

X = 30 * np.eye(4, dtype=np.float32)[:3]
CLASSES = np.array([1, 1, 1])
CHANCES = np.zeros((3, 4), np.float32)
# The losses of two epochs and of the model then, by TensorFlow 2.15.
CASES = {
    "sparse_categorical_crossentropy": ("softmax", CLASSES, [20.0, 15.993332862854004], 11.986666679382324),
    "categorical_crossentropy": (
        "softmax",
        np.eye(4, dtype=np.float32)[CLASSES],
        [20.0, 15.993332862854004],
        11.986666679382324,
    ),
    "binary_crossentropy": ("sigmoid", CHANCES, [8.01986026763916, 7.703958988189697], 7.430826187133789),
}


@pytest.mark.parametrize("loss", CASES)
@pytest.mark.parametrize("as_layer", [False, True])
def test_a_model_that_is_surely_wrong_learns_as_with_tensorflow(loss, as_layer):
    activation, y, losses, after = CASES[loss]
    dense = tf.keras.layers.Dense(
        4, kernel_initializer="identity", activation=None if as_layer else activation
    )
    model = tf.keras.Sequential([dense, *([tf.keras.layers.Activation(activation)] if as_layer else [])])
    model.compile("sgd", loss)
    assert model.fit(X, y, epochs=2, verbose=0).history["loss"] == pytest.approx(losses, rel=1e-5)
    assert float(np.mean(tf.keras.losses.get(loss)(y, model(X)))) == pytest.approx(after, rel=1e-5)


def test_a_loop_has_the_gradient_of_the_logits():
    logits = tf.Variable(X)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(
            keras.losses.sparse_categorical_crossentropy(CLASSES, keras.activations.softmax(logits))
        )
    gradient = np.asarray(tape.gradient(loss, logits))
    assert gradient[0] == pytest.approx([1, -1, 0, 0], abs=1e-5)


def test_probabilities_of_no_activation_are_taken_as_they_are():
    given = np.asarray(keras.activations.softmax(X))
    loss = keras.losses.sparse_categorical_crossentropy(CLASSES[:1], given[:1])
    assert float(np.asarray(loss)[0]) == pytest.approx(16.118, rel=1e-3)
    # Along another dimension, a softmax gives no probabilities of these classes.
    across = keras.activations.softmax(np.asarray(X), axis=0)
    expected = keras.losses.sparse_categorical_crossentropy(CLASSES, np.asarray(across))
    found = keras.losses.sparse_categorical_crossentropy(CLASSES, across)
    assert np.asarray(found) == pytest.approx(np.asarray(expected))


def test_nothing_is_kept_behind_an_output():
    logits = jnp.ones([3]) * 2
    kept, output = weakref.ref(logits), keras.activations.sigmoid(logits)
    del logits
    gc.collect()
    assert kept() is not None
    del output
    gc.collect()
    assert kept() is None


class Calling(tf.keras.layers.Layer):
    """A layer of a program's own."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def call(self, x):
        return self.function(x)


def model_of(way, function):
    def dense(activation=None):
        return tf.keras.layers.Dense(4, kernel_initializer="identity", activation=activation)

    match way:
        case "activation":
            return tf.keras.Sequential([dense(function)])
        case "lambda":
            return tf.keras.Sequential([dense(), tf.keras.layers.Lambda(lambda x: function(x))])
        case "own layer":
            return tf.keras.Sequential([dense(), Calling(function)])
    inputs = tf.keras.Input([4])
    return tf.keras.Model(inputs, function(dense()(inputs)))


# By TensorFlow 2.15, where nothing else is said.
IN_GRAPHS = {"softmax": [20.0, 15.9933], "sigmoid": [8.0199, 7.7040]}
# Of a sigmoid, by Keras 3: TensorFlow 2.15 adds 1e-7 to what it takes the logarithm of.
AT_ONCE = {"softmax": [10.7454, 10.7454], "sigmoid": [4.5055, 4.3776]}
FUNCTIONS = {
    "tf.nn.softmax": (tf.nn.softmax, "softmax", False),
    "tf.sigmoid": (tf.sigmoid, "sigmoid", False),
    "K.softmax": (tf.keras.backend.softmax, "softmax", True),
    "K.sigmoid": (tf.keras.backend.sigmoid, "sigmoid", True),
}
LOSSES = {
    "softmax": ("sparse_categorical_crossentropy", CLASSES),
    "sigmoid": ("binary_crossentropy", CHANCES),
}


@pytest.mark.parametrize("way", ["activation", "lambda", "own layer", "functional"])
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("eagerly", [False, True])
def test_functions_of_tensorflow_are_operations_of_a_graph_alone(name, way, eagerly):
    function, kind, always = FUNCTIONS[name]
    loss, labels = LOSSES[kind]
    model = model_of(way, function)
    model.compile("sgd", loss, run_eagerly=eagerly)
    always = always and way != "functional"
    expected = (IN_GRAPHS if always or not eagerly else AT_ONCE)[kind]
    assert model.fit(X, labels, epochs=2, verbose=0).history["loss"] == pytest.approx(expected, abs=2e-4)


def test_a_compiled_function_has_the_logits_of_a_softmax():
    def loss(x, axis):
        return tf.reduce_mean(
            tf.keras.losses.sparse_categorical_crossentropy(CLASSES, tf.nn.softmax(x, axis))
        )

    assert float(tf.function(loss)(X, -1)) == pytest.approx(20.0)
    assert float(tf.function(loss)(X, 1)) == pytest.approx(20.0)
    assert float(loss(X, -1)) == pytest.approx(10.7454, abs=1e-4)
    # By TensorFlow 2.15: across the examples it gives no probabilities of classes.
    assert float(tf.function(loss)(X, 0)) == pytest.approx(float(loss(X, 0)))
