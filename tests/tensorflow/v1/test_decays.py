"""Learning rates are TensorFlow's, at every step; what TensorFlow gave is in `tests/golden`."""

import jax
import keras
import numpy as np
import pytest

import stratax as sx
import stratax.tf as tf
from stratax.tensorflow.v1 import train
from tests.golden import v1_cases, v1_references

REFERENCES = v1_references.read()
NAMES = sorted({name for name, _ in v1_cases.DECAYS.values()})


@pytest.mark.parametrize("name", NAMES)
def test_a_rate_is_tensorflows(name):
    for key, (function, arguments) in v1_cases.DECAYS.items():
        if function == name:
            rate = getattr(train, name)(**arguments)
            wanted = REFERENCES[f"decays|{key}"]
            assert (rate.shape, rate.dtype) == ((), "float32"), key
            np.testing.assert_allclose(rate, wanted, rtol=1e-5, atol=1e-7, err_msg=key)


@pytest.mark.parametrize("name", NAMES)
def test_a_step_may_be_a_number_an_array_or_a_variable_also_in_a_program(name):
    cases = [arguments for function, arguments in v1_cases.DECAYS.values() if function == name]
    arguments = dict(next(case for case in cases if 3 in case.values()))
    step = "x" if "x" in arguments else "global_step"
    wanted = getattr(train, name)(**arguments)
    for make in (np.asarray, jax.numpy.asarray, lambda x: keras.Variable(x, dtype="int32")):
        given = make(arguments[step])
        assert getattr(train, name)(**{**arguments, step: given}) == wanted
        # XLA fuses and may round otherwise than one operation at a time does.
        compiled = sx.function(lambda given=given: getattr(train, name)(**{**arguments, step: given}))()
        np.testing.assert_allclose(compiled, wanted, rtol=1e-6)


def test_a_rate_keeps_the_dtype_of_a_float_rate():
    assert train.exponential_decay(np.float16(0.5), 3, 10, 0.7).dtype == "float16"
    assert train.exponential_decay(1, 3, 10, 0.7).dtype == "float32"


def test_noise_has_the_variance_that_is_asked_for():
    def rate():
        return train.noisy_linear_cosine_decay(
            1.0, global_step=3, decay_steps=10, initial_variance=4.0, variance_decay=1.0, num_periods=0.0
        )

    tf.random.set_seed(0)
    rates = np.array([rate() for _ in range(400)])
    np.testing.assert_allclose([rates.mean(), rates.std()], [0.7, 1.0], atol=0.1)


def test_replicas_draw_the_same_noise():
    def rate():
        return train.noisy_linear_cosine_decay(1.0, global_step=3, decay_steps=10)

    strategy = sx.distribute.MirroredStrategy([f"/cpu:{index}" for index in range(4)])
    rates = [float(value) for value in strategy.run(rate).values]
    assert len(rates) == 4
    assert len(set(rates)) == 1


def test_there_is_one_value_more_than_boundaries():
    with pytest.raises(ValueError, match="Expected: 3 values. Received: boundaries=\\[1, 2\\]"):
        train.piecewise_constant(0, [1, 2], [1.0, 0.5])


def test_without_boundaries_there_is_one_value():
    assert train.piecewise_constant(7, [], [0.5]) == 0.5
