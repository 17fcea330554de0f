"""What a trace knows of its tensors."""

import jax.numpy as jnp
import keras
import numpy as np

import stratax.tf as tf
from tests.tensorflow.v1.steps import Step


def test_tensors_have_the_same_number_in_every_trace():
    def body(scope, x):
        hidden = keras.layers.Dense(2, activation="relu")(x)
        made = tf.Variable(lambda: tf.ones([2]) * 3, name="made")
        loss = jnp.sum(hidden * made.value)
        scope.derivatives.gradients(loss, x)
        numbers.append([scope.values.number_of(tensor) for tensor in (x, hidden, loss)])
        assert scope.values.result(numbers[-1][2]) is loss
        return loss

    numbers = []
    step = Step(body)
    step(np.ones((4, 3), np.float32))
    step(np.ones((2, 3), np.float32))
    assert len(numbers) >= 2
    assert None not in numbers[0]
    assert all(found == numbers[0] for found in numbers)
