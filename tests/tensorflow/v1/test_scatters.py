"""Elements of variables are updated by TensorFlow 1's functions."""

import numpy as np
import pytest

import stratax.tf as tf
from stratax import errors
from tests.tensorflow.v1.steps import Step


def test_functions_of_tensorflow_1_update_elements():
    v = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    tf.compat.v1.scatter_nd_update(v, [[0, 0]], [9.0])
    tf.compat.v1.scatter_nd_add(v, [[0, 0]], [1.0])
    tf.compat.v1.scatter_nd_sub(v, [[1]], [[1.0, 1.0]])
    tf.compat.v1.batch_scatter_update(v, [[1], [1]], [[7.0], [8.0]])
    assert v.numpy().tolist() == [[10.0, 7.0], [2.0, 8.0]]
    with pytest.raises(errors.BadTypeError, match="needs a variable"):
        tf.scatter_add(tf.constant([1.0]), [0], [1.0])


def test_updates_of_rows_wait_until_they_are_run():
    def body(scope, x):
        v = tf.get_variable("v", (3,), initializer=tf.zeros_initializer(), trainable=False)
        first, second = tf.scatter_add(v, [0, 0], [x, x]), tf.scatter_nd_update(v, [[1]], [x])
        tf.scatter_update(v, [2], [x])
        scope.run([first, second])
        return v.value

    assert Step(body)(np.float32(3)).tolist() == [6.0, 3.0, 0.0]
