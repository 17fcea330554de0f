"""`SyncReplicasOptimizer` is the optimizer that it is given, with averages behind each step."""

import keras
import numpy as np
import pytest

import stratax as sx
import stratax.tf.compat.v1 as tf
from stratax.tensorflow import v1
from stratax.tensorflow.estimator import SessionRunHook, SyncReplicasOptimizer


def trained(optimizer):
    """The variables behind two steps of fitting a line."""
    state = v1.ModelState(1)

    def step(x, y):
        with v1.ModelScope(state, "train").entered((x, y)) as scope:
            kernel = v1.get_variable("kernel", (3, 1), initializer=keras.initializers.Ones())
            loss = tf.losses.mean_squared_error(y, x @ kernel.value)
            scope.run(optimizer(kernel).minimize(loss, global_step=tf.train.get_or_create_global_step()))

    program = sx.function(step, autograph=False)
    x = np.random.default_rng(0).normal(size=(4, 3)).astype("float32")
    for _ in range(2):
        program(x, x[:, :1])
    return {name: np.asarray(variable.value) for name, variable in state.variables.items()}


def test_it_trains_as_the_optimizer_and_averages_behind_each_step():
    made = []

    def averaging(kernel):
        average = tf.train.ExponentialMovingAverage(0.5)
        inner = tf.train.MomentumOptimizer(0.1, 0.9)
        made.append((SyncReplicasOptimizer(inner, 4, variable_averages=average), kernel))
        return made[-1][0]

    found = trained(averaging)
    plain = trained(lambda kernel: SyncReplicasOptimizer(tf.train.MomentumOptimizer(0.1, 0.9), 4))
    own = trained(lambda kernel: tf.train.MomentumOptimizer(0.1, 0.9))
    np.testing.assert_array_equal(found["kernel"], own["kernel"])
    np.testing.assert_array_equal(plain["kernel"], own["kernel"])
    assert found.keys() - own.keys() == {"kernel/ExponentialMovingAverage"}
    average = found["kernel/ExponentialMovingAverage"]
    # Half of the last kernel, and half of the average before.
    assert not np.allclose(average, found["kernel"])
    assert np.all((average - found["kernel"]) * (1 - found["kernel"]) > 0)
    optimizer, kernel = made[-1]
    assert optimizer.get_slot_names() == ["momentum"]
    assert optimizer.get_slot(kernel, "momentum").path == "kernel/Momentum"
    assert [variable.path for variable in optimizer.variables()] == ["kernel/Momentum"]
    assert type(optimizer.make_session_run_hook(is_chief=True)) is SessionRunHook


def test_it_needs_a_global_step():
    optimizer = SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(0.1), 4)
    with pytest.raises(ValueError, match="Global step is required"):
        optimizer.apply_gradients([(1.0, None)])
