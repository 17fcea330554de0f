"""Layers and models of Keras belong to the graph in which they are called."""

import numpy as np

import stratax.tf.compat.v1 as tf
from stratax.tf import keras


def test_weights_are_variables_of_the_graph_and_names_begin_anew():
    names = []
    for _ in range(2):
        with tf.Graph().as_default() as graph, tf.Session() as session:
            x = tf.placeholder(tf.float32, [None, 3])
            layer = keras.layers.Dense(2, kernel_initializer="ones")
            out = layer(x)
            names.append([each.name for each in tf.global_variables()])
            assert layer.kernel.graph is graph
            # They have values from the beginning, as Keras gives them.
            assert session.run(out, {x: [[1, 2, 3]]}).tolist() == [[6, 6]]
            session.run(tf.assign(layer.bias, [1.0, 2.0]))
            assert session.run(out, {x: [[1, 2, 3]]}).tolist() == [[7, 8]]
            session.run(tf.global_variables_initializer())
            assert layer.get_weights()[1].tolist() == [0, 0]
    assert names == [["dense/kernel:0", "dense/bias:0"]] * 2


def test_operations_of_keras_take_tensors_of_the_graph():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 2])
        model = keras.Sequential([keras.Input((2,)), keras.layers.Rescaling(2.0)])
        assert model.input.shape == (None, 2)
        found = [
            keras.ops.sum(x, axis=1),
            keras.activations.relu(x),
            keras.losses.mean_squared_error(x, x + 1.0),
        ]
        found.append(model.output)
        values = session.run(found, {x: [[1, -2]], model.input: [[3, 4]]})
        assert [each.tolist() for each in values] == [[-1], [[1, 0]], [1], [[6, 8]]]
        assert x != found[0]


def test_training_is_what_the_learning_phase_says():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 50])
        dropped = keras.layers.Dropout(0.5)(x)
        always = keras.layers.Dropout(0.5)(x, training=True)
        ones, phase = np.ones((4, 50), "float32"), keras.backend.learning_phase()
        assert session.run(phase) == np.False_
        assert session.run(dropped, {x: ones}).tolist() == ones.tolist()
        assert (session.run(dropped, {x: ones, phase: 1}) == 0).any()
        assert (session.run(always, {x: ones}) == 0).any()
