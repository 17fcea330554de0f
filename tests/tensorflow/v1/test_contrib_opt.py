"""`tf.contrib.opt`'s optimizers make the steps of TensorFlow 1.15's."""

import numpy as np
import pytest

import stratax as sx
import stratax.tf as tf
from stratax import errors
from stratax.tensorflow import v1
from tests.tensorflow.v1.steps import Step

opt = tf.contrib.opt


def sgdw(**arguments):
    return opt.extend_with_decoupled_weight_decay(v1.train.GradientDescentOptimizer)(**arguments)


def less_each_step(step):
    return 1.0 / (1.0 + tf.cast(step, tf.float32))


# What TensorFlow 1.15 gives for the variables behind three steps of `trained`. Where variables decay, it is told to
# compute gradients first, as nothing else orders the two there.
CASES = {
    "LARS": (
        lambda: opt.LARSOptimizer(0.5, skip_list=["bias"], epsilon=0.01),
        ([0.500707, -0.9985405], [0.624568, -8.4282389]),
        [0.6149751, -3.4721138, 3.2097585, 11.1627226, 5.0, 6.0],
    ),
    "LARS with Nesterov's momentum": (
        lambda: opt.LARSOptimizer(0.5, 0.8, 0.01, skip_list=["bias"], use_nesterov=True),
        ([0.4997605, -0.9980789], [-2.8947906, 7.3169479]),
        [-9.0107937, -69.007988, 9.282918, 51.5721931, 5.0, 6.0],
    ),
    "lazy Adam": (
        lambda: opt.LazyAdamOptimizer(0.1),
        ([0.2208942, -0.7187918], [-0.0795641, 0.5827289]),
        [0.8354937, 1.8291516, 2.7999184, 3.8009779, 5.0, 6.0],
    ),
    "Nadam": (
        lambda: opt.NadamOptimizer(0.1),
        ([0.1075082, -0.5962932], [-0.1794686, 0.6983298]),
        [0.7624519, 1.7496524, 2.6828082, 3.6640024, 5.0, 6.0],
    ),
    "AdaMax": (
        lambda: opt.AdaMaxOptimizer(0.1),
        ([0.2440884, -0.7423076], [-0.050636, 0.5580684]),
        [0.8621746, 1.8576914, 2.807425, 3.8160603, 5.0, 6.0],
    ),
    "AddSign": (
        lambda: opt.AddSignOptimizer(0.1, sign_decay_fn=less_each_step),
        ([7.6074815, -23.9075031], [1.7305777, -6.6856608]),
        [-19.7053719, -188.6543732, -5.6887617, -100.1286011, 5.0, 6.0],
    ),
    "PowerSign": (
        lambda: opt.PowerSignOptimizer(0.1, base=2.0),
        ([11.0712652, -35.0221786], [-0.8995576, 0.7364511]),
        [-61.2049637, -581.071167, -8.4716816, -134.3447876, 5.0, 6.0],
    ),
    "AdamW": (
        lambda: opt.AdamWOptimizer(0.05, learning_rate=0.1),
        ([0.165392, -0.592383], [-0.0905252, 0.5224369]),
        [0.6877707, 1.5851725, 2.4352527, 3.3378415, 5.0, 6.0],
    ),
    "MomentumW": (
        lambda: opt.MomentumWOptimizer(0.05, learning_rate=0.1, momentum=0.9, use_nesterov=True),
        ([9.8374767, -31.5592461], [1.0487602, -5.9529505]),
        [-29.1311188, -280.3580627, -6.8787727, -110.6250687, 5.0, 6.0],
    ),
    "gradient descent with decay": (
        lambda: sgdw(weight_decay=0.05, learning_rate=0.1),
        ([1.7616845, -7.1164083], [0.1195471, 0.931278]),
        [-0.4138094, -54.9433784, 1.9176322, -13.8477402, 5.0, 6.0],
    ),
}


def variable(name, value):
    return v1.get_variable(name, initializer=np.float32(value))


def trained(make, **arguments):
    def body(scope, ids):
        w, bias = variable("w", [0.5, -1.0]), variable("bias", [0.2, 0.3])
        table = variable("table", [[1, 2], [3, 4], [5, 6]])
        loss = tf.reduce_sum(tf.square(w * v1.nn.embedding_lookup(table, ids) + bias))
        step = v1.train.get_or_create_global_step()
        return scope.run([make().minimize(loss, step, **arguments)])

    step = Step(body)
    for ids in ([0, 1, 0], [1, 1], [0]):
        step(np.int32(ids))
    return step


@pytest.mark.parametrize("name", CASES)
def test_steps_are_tensorflows(name):
    make, (w, bias), table = CASES[name]
    step = trained(make)
    np.testing.assert_allclose(step.value("w"), w, rtol=3e-6)
    np.testing.assert_allclose(step.value("bias"), bias, rtol=1e-5)
    np.testing.assert_allclose(step.value("table").ravel(), table, rtol=1e-5)


def test_slots_have_tensorflows_names():
    names = {"bias", "table", "w", "global_step", "beta1_power"}
    slots = {f"{each}/AdaMax{end}" for each in ("bias", "table", "w") for end in ("", "_1")}
    assert set(trained(opt.AdaMaxOptimizer).names) == names | slots


def test_minimize_has_all_variables_decay_as_tensorflow():
    make, (_, bias), _ = CASES["AdamW"]
    step = trained(make, decay_var_list=["w"])
    np.testing.assert_allclose(step.value("bias"), bias, rtol=1e-5)


def test_apply_gradients_has_those_decay_that_it_is_given():
    def body(scope, x):
        w, u = variable("w", [1.0]), variable("u", [1.0])
        pairs = [(x, w), (x, u)]
        return scope.run(
            [sgdw(weight_decay=0.5, learning_rate=1.0).apply_gradients(pairs, decay_var_list=[w])]
        )

    step = Step(body)
    step(np.float32([0.0]))
    assert (step.value("w"), step.value("u")) == ([0.5], [1.0])


def test_a_rate_below_zero_is_refused():
    with pytest.raises(errors.BadArgumentError, match="momentum should be positive: -1"):
        opt.LARSOptimizer(0.1, momentum=-1)


def test_gradients_are_clipped_by_their_common_norm():
    ((first, _), (second, _)) = opt.clip_gradients_by_global_norm(
        [(np.float32([3]), "a"), (np.float32([4]), "b")], 1
    )
    np.testing.assert_allclose([first, second], [[0.6], [0.8]], rtol=1e-6)


def averaging(scope):
    optimizer = opt.MovingAverageOptimizer(v1.train.GradientDescentOptimizer(1.0), average_decay=0.5)
    w, _ = variable("w", [1.0]), variable("other", [7.0])
    scope.run([optimizer.minimize(tf.reduce_sum(w * 2.0), v1.train.get_or_create_global_step(), [w])])
    return optimizer


def test_averages_are_saved_by_the_names_of_variables(tmp_path):
    def body(scope, x):
        saved = averaging(scope).swapping_saver().variables
        assert saved["w"].path == "w/ExponentialMovingAverage"
        assert saved["w/ExponentialMovingAverage"].path == "w"
        assert saved["other"].path == "other"
        return x

    step = Step(body)
    step(np.float32(0))
    # Half the way from 1, where an average starts, to -1.
    assert (step.value("w"), step.value("w/ExponentialMovingAverage")) == ([-1.0], [0.0])


def test_a_saver_of_averages_needs_both_and_a_step():
    def body(scope, x):
        with pytest.raises(errors.ModelScopeError, match="Must call apply_gradients"):
            opt.MovingAverageOptimizer(v1.train.GradientDescentOptimizer(1.0)).swapping_saver()
        optimizer = averaging(scope)
        with pytest.raises(errors.BadArgumentError, match="not part of variables to save"):
            optimizer.swapping_saver([scope.variable("w")])
        return x

    Step(body)(np.float32(0))


@pytest.mark.parametrize("name", ["AdamW", "LARS"])
def test_replicas_make_one_devices_steps(name):
    make, *_ = CASES[name]

    def model_fn(features, labels, mode):
        w, bias = variable("w", [0.5, -1.0]), variable("bias", [0.2, 0.3])
        rows = v1.nn.embedding_lookup(variable("table", [[1, 2], [3, 4], [5, 6]]), features)
        loss = tf.reduce_mean(tf.square(w * rows + bias)) * 6.0
        op = make().minimize(loss, v1.train.get_or_create_global_step())
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=op)

    def values(strategy, num_replicas):
        ids = sx.data.Dataset.from_tensor_slices(np.int32([0, 1, 0, 1])).repeat(3).batch(4 // num_replicas)
        config = tf.estimator.RunConfig(train_distribute=strategy)
        estimator = tf.estimator.Estimator(model_fn, config=config)
        estimator.train(lambda: ids)
        return [estimator.get_variable_value(each) for each in ("w", "table")]

    strategy = sx.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    for one, two in zip(values(None, 1), values(strategy, 2), strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-5)
