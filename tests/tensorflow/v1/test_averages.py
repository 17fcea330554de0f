"""Moving averages outside of a `model_fn`; the numbers are TensorFlow 2.21's."""

import numpy as np
import pytest

import stratax.tf as tf
from stratax import errors


def averaged(average, apply, v):
    apply()
    v.assign(20.0)
    apply()
    return round(float(average.average(v)), 5)


def test_averages_are_updated_at_once():
    v, average = tf.Variable(10.0, name="v"), tf.train.ExponentialMovingAverage(0.9)
    assert average.apply() is None
    assert averaged(average, lambda: average.apply([v]), v) == 11.0
    assert average.average(tf.Variable(1.0)) is None
    assert average.average_name(v) == "v/ExponentialMovingAverage"
    assert list(average.variables_to_restore([v])) == ["v/ExponentialMovingAverage"]


def test_a_compiled_function_updates_averages_each_time_it_runs():
    v, average = tf.Variable(10.0), tf.train.ExponentialMovingAverage(0.9)
    assert averaged(average, tf.function(lambda: average.apply([v])), v) == 11.0


def test_few_updates_make_the_decay_smaller():
    v, average = tf.Variable(10.0), tf.train.ExponentialMovingAverage(0.9, num_updates=tf.Variable(3))
    assert averaged(average, lambda: average.apply([v]), v) == 16.92308


def test_replicas_update_an_average_once():
    strategy = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
    with strategy.scope():
        v = tf.Variable(10.0)
    average = tf.train.ExponentialMovingAverage(0.9)
    assert averaged(average, lambda: strategy.run(lambda: average.apply([v])), v) == 11.0
    average.apply([v])
    np.testing.assert_allclose(average.average(v), 11.9, rtol=1e-6)


@pytest.mark.parametrize("value", [1.0, [1.0]])
def test_tensors_have_no_averages_outside_of_a_model_fn(value):
    with pytest.raises(errors.BadTypeError, match="Keep the tensor in a tf.Variable"):
        tf.train.ExponentialMovingAverage(0.9).apply([tf.constant(value)])
