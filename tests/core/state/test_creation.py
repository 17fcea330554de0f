"""Variables that a compiled function makes."""

import keras
import numpy as np
import pytest

import stratax as sx


@pytest.mark.parametrize("value", [2, 2.0, np.float32(2), np.full(3, 2.0, "float32"), [2.0, 2.0]])
def test_a_variable_that_a_function_makes_of_a_value_is_as_one_made_before(value):
    made, expected = [], keras.Variable(value, trainable=False)

    @sx.function
    def double(x):
        if not made:
            made.append(keras.Variable(value, trainable=False))
        made[0].assign(made[0] * x)
        return made[0] + 0

    for factor in (2, 4):
        np.testing.assert_array_equal(double(2), np.asarray(value) * factor)
    assert (made[0].dtype, made[0].shape) == (expected.dtype, expected.shape)
    assert not made[0].trainable
    np.testing.assert_array_equal(made[0], np.asarray(value) * 4)


def test_an_optimizer_that_makes_variables_of_values_is_built_in_a_function():
    def trained(compiled):
        weight, optimizer = keras.Variable([1.0, 2.0]), keras.optimizers.Adafactor(0.1)

        def step():
            optimizer.apply_gradients([(2 * weight.value, weight)])

        for _ in range(2):
            (sx.function(step) if compiled else step)()
        return np.asarray(weight)

    np.testing.assert_allclose(trained(True), trained(False), rtol=1e-6)
