"""The model scope: variables by name in every trace, deferred operations, gradients."""

import jax
import jax.numpy as jnp
import keras
import numpy as np
import pytest

import stratax as sx
import stratax.tf as tf
from stratax import errors
from stratax.distribute.replicas._replica_region import is_seed_state
from stratax.tensorflow import v1
from stratax.tensorflow.v1 import _scope, layers, train
from tests.tensorflow.v1.steps import Step


def dense_step(scope, x):
    kernel = v1.get_variable("kernel", (x.shape[1], 2))
    with v1.variable_scope("inner"):
        bias = v1.get_variable("bias", (2,), initializer=keras.initializers.Ones())
    loss = jnp.mean((x @ kernel.value + bias.value) ** 2)
    gradients = scope.gradients(loss, [kernel, bias])
    train = [v.assign_sub(0.1 * g) for v, g in zip([kernel, bias], gradients, strict=True)]
    step = scope.global_step()
    scope.run(v1.group(*train, step.assign_add(1)))
    return loss


def test_variables_are_the_same_in_each_trace_and_are_trained():
    step = Step(dense_step)
    first = step(np.ones((4, 3), np.float32))
    second = step(np.ones((2, 3), np.float32))
    assert len(step.scopes) >= 2
    assert step.names == ["kernel", "inner/bias", "global_step"]
    assert [v.path for v in step.state.variables.values()] == step.names
    assert second < first
    assert int(step.state.variables["global_step"].value) == 2


def test_variables_have_tensorflows_names():
    def body(scope, x):
        with v1.variable_scope("body"):
            x = layers.dense(x, 2, name="d1")
            x = layers.batch_normalization(x)
        with v1.variable_scope("k"):
            x = keras.layers.Dense(2, name="kd")(x)
            x = keras.layers.Dropout(0.5, name="drop")(x, training=True)
            x = keras.layers.Dropout(0.5, name="drop")(x, training=True)
        first, second = (tf.Variable(1.0, name="z") for _ in range(2))
        loss = jnp.sum(x) * first.value * second.value
        scope.run(train.MomentumOptimizer(0.1, 0.9).minimize(loss, scope.global_step()))
        decayed = [v.name for v in v1.trainable_variables() if "batch_normalization" not in v.name]
        assert decayed == [
            *("body/d1/kernel:0", "body/d1/bias:0", "k/kd/kernel:0", "k/kd/bias:0", "z:0", "z_1:0")
        ]
        return loss

    step = Step(body)
    step(np.ones((4, 3), np.float32))
    step(np.ones((2, 3), np.float32))
    variables = step.state.variables
    assert {"body/batch_normalization/gamma", "body/d1/kernel/Momentum", "global_step"} <= set(variables)
    # TensorFlow 2.15's `v.name` and `v.op.name`.
    assert [v.name for v in variables.values()] == [f"{name}:0" for name in variables]
    assert [v.op.name for v in variables.values()] == list(variables) == [v.path for v in variables.values()]
    seeds = [v for v in variables.values() if "seed" in v.name]
    assert len(seeds) == 2
    assert all(map(is_seed_state, seeds))


def test_keras_optimizers_may_call_slots_by_the_names_of_variables():
    def body(scope, x):
        with v1.variable_scope("body"):
            w = v1.get_variable("w", (3, 2))
        loss = jnp.sum(x @ w.value)
        optimizer = keras.optimizers.Adafactor(0.1)
        scope.run(optimizer.apply_gradients(zip(scope.gradients(loss, [w]), [w], strict=True)))
        return loss

    step = Step(body)
    step(np.ones((4, 3), np.float32))
    assert [name for name in step.names if name.startswith("adafactor/w")] == ["adafactor/w", "adafactor/w_1"]


def test_a_variable_outside_of_a_model_keeps_its_name():
    made = v1.Variable(1.0, name="z")
    assert (made.name, made.op.name) == ("z", "z")


def test_first_values_follow_from_the_seed_and_leave_pythons_generator_alone():
    import random

    random.seed(5)
    expected = random.random()
    random.seed(5)
    values = []
    for seed in (1, 1, 2):
        step = Step(dense_step, seed=seed)
        step(np.ones((4, 3), np.float32))
        values.append(np.asarray(step.state.variables["kernel"].value))
    assert random.random() == expected
    assert np.array_equal(values[0], values[1])
    assert not np.array_equal(values[0], values[2])


def test_layers_and_metrics_of_keras_keep_their_variables_and_names():
    def body(scope, x):
        hidden = keras.layers.Dense(4, activation="relu")(x)
        with v1.variable_scope("head"):
            out = keras.layers.Dense(2)(hidden)
        again = keras.layers.Dense(3)(out)
        metric = keras.metrics.Mean(name="mean")
        metric.update_state(again)
        return again

    step = Step(body)
    for rows in (4, 2, 3):
        step(np.ones((rows, 3), np.float32))
    assert step.names == [
        "dense/kernel",
        "dense/bias",
        "head/dense_1/kernel",
        "head/dense_1/bias",
        "dense_2/kernel",
        "dense_2/bias",
        "mean/total",
        "mean/count",
    ]
    assert float(step.state.variables["mean/count"].value) == 9


def test_what_is_not_run_has_no_effect():
    def body(scope, x):
        v = v1.get_variable("v", (), initializer=keras.initializers.Zeros())
        w = v1.get_variable("w", (), initializer=keras.initializers.Zeros())
        v.assign_add(1.0)
        run = w.assign(5.0)
        scope.run(run)
        return v.value + x

    step = Step(body)
    assert float(step(np.float32(1))) == 1
    assert float(step.state.variables["v"].value) == 0
    assert float(step.state.variables["w"].value) == 5


def test_control_dependencies_show_what_they_assign_and_run_it_only_when_asked_for():
    def body(scope, is_run):
        v = v1.get_variable("v", (), initializer=keras.initializers.Zeros())
        w = v1.get_variable("w", (), initializer=keras.initializers.Zeros())
        with v1.control_dependencies([v.assign_add(2.0)]):
            inside = v.value * 10
            train = w.assign(v.value)
        outside = v.value
        if is_run:
            scope.run(train)
        return inside, outside

    for is_run, expected in ((False, (0, 0)), (True, (2, 2))):
        step = Step(body)
        inside, outside = step(is_run)
        assert (float(inside), float(outside)) == (20, 0)
        assert tuple(float(v.value) for v in step.state.variables.values()) == expected


def test_operations_run_once_in_the_order_of_the_program():
    def body(scope, x):
        v = v1.get_variable("v", (), initializer=keras.initializers.Ones())
        double = v1.assign(v, x)
        add = v.assign_add(1.0)
        scope.run([add, v1.group(add, double), double])
        return v.value

    assert float(Step(body)(np.float32(5))) == 6


def test_initial_values_may_be_computed_of_constants_and_variables():
    def body(scope, x):
        a = tf.Variable(tf.zeros([2, 3]) + 1, name="a")
        b = tf.Variable(tf.random.normal([3]), name="b")
        c = tf.Variable(a.value * 2, trainable=False)
        return x + jnp.sum(a.value) + jnp.sum(c.value) + 0 * jnp.sum(b.value)

    step = Step(body)
    assert float(step(np.float32(0))) == 18
    # The generator that `b` is drawn from is the model's.
    assert step.names == ["a", "seed_generator_state", "b", "Variable"]
    assert not step.state.variables["Variable"].trainable
    assert np.ptp(step.state.variables["b"].value) > 0


def test_an_initial_value_that_depends_on_features_is_refused():
    step = Step(lambda scope, x: tf.Variable(x, name="a").value)
    with pytest.raises(errors.BadArgumentError, match="can't depend on features"):
        step(np.float32(0))


def test_sharing_follows_the_scope():
    def body(scope, x):
        with v1.variable_scope("s"):
            first = v1.get_variable("v", (2,))
        with v1.variable_scope("s", reuse=True):
            assert v1.get_variable("v", (2,)) is first
            with pytest.raises(errors.BadArgumentError, match="s/new does not exist"):
                v1.get_variable("new", (2,))
        with v1.variable_scope("s", reuse=v1.AUTO_REUSE):
            assert v1.get_variable("v", (2,)) is first
            v1.get_variable("new", (2,))
            with pytest.raises(
                errors.BadArgumentError, match=r"specified shape \(3,\) and found shape \(2,\)"
            ):
                v1.get_variable("v", (3,))
        with v1.variable_scope("s"), pytest.raises(errors.BadArgumentError, match="s/v already exists"):
            v1.get_variable("v", (2,))
        return x

    step = Step(body)
    step(np.float32(0))
    assert step.names == ["s/v", "s/new"]


def test_regularizers_and_collections():
    def body(scope, x):
        with v1.variable_scope("a", regularizer=lambda w: jnp.sum(w) * 2):
            v1.get_variable("v", (2,), initializer=keras.initializers.Ones(), collections=["mine"])
        losses = scope.get_collection("regularization_losses")
        assert [v.path for v in scope.get_collection("mine")] == ["a/v"]
        assert [v.path for v in scope.get_collection("trainable_variables", scope="a/")] == ["a/v"]
        return losses[0]

    assert float(Step(body)(np.float32(0))) == 4


def test_names_of_operations_are_unique_below_name_scopes():
    def body(scope, x):
        with v1.name_scope("layer") as name:
            assert name == "layer/"
            assert v1.no_op("a").name == "layer/a"
        with v1.name_scope("layer"):
            assert v1.no_op("a").name == "layer_1/a"
        assert [v1.no_op("a").name, v1.no_op("A").name] == ["a", "A_1"]
        return x

    Step(body)(np.float32(0))


def test_gradients_of_features_and_none_where_unconnected():
    def body(scope, x):
        v = v1.get_variable("v", ())
        assert scope.gradients(jnp.sum(x * 3), [v]) == [None]
        return scope.gradients(jnp.sum(x**2), x)[0]

    assert Step(body)(np.float32([1, 2])).tolist() == [2, 4]


def penalty(scope, x):
    v = v1.get_variable("v", (), initializer=keras.initializers.Constant(0.5))
    (slope,) = scope.gradients(jnp.sum(jnp.tanh(x * v.value)), [x])
    norm = jnp.sqrt(jnp.sum(slope**2))
    return scope.gradients((norm - 1) ** 2 + v.value, [v])[0]


def test_gradients_of_gradients_are_followed_from_the_next_trace_on():
    x = np.float32([1, 2])

    def loss(v):
        slope = jax.grad(lambda x: jnp.sum(jnp.tanh(x * v)))(x)
        return (jnp.sqrt(jnp.sum(slope**2)) - 1) ** 2 + v

    state = v1.ModelState(1)
    with pytest.raises(v1.DerivativesError, match="computed of gradients"):
        Step(penalty, state=state)(x)
    found = Step(penalty, state=state)(x)
    np.testing.assert_allclose(found, jax.grad(loss)(0.5), rtol=1e-5)


def test_third_derivatives_take_two_more_traces():
    def third(scope, x):
        first = scope.gradients(x**4, [x])[0]
        second = scope.gradients(first * 2, [x])[0]
        # First and second derivatives together.
        return scope.gradients(second * first, [x])[0], scope.gradients(first, [x])[0]

    state = v1.ModelState(1)
    for _ in range(2):
        with pytest.raises(v1.DerivativesError):
            Step(third, state=state)(np.float32(2))
    found = Step(third, state=state)(np.float32(2))
    # 4x^3 * 24x^2 = 96x^5, whose derivative is 480x^4; 12x^2.
    assert [float(each) for each in found] == [480 * 16, 48]


def test_two_losses_have_gradients_of_their_own():
    def two(scope, x):
        v = v1.get_variable("v", (), initializer=keras.initializers.Ones())
        # The derivative is x itself, which the second loss needs too.
        (first,) = scope.gradients(v.value * x, [v])
        (second,) = scope.gradients(v.value * x * 3, [v])
        return first, second

    assert [float(g) for g in Step(two)(np.float32(2))] == [2, 6]


def test_tensors_have_the_same_number_in_every_trace():
    def body(scope, x):
        hidden = keras.layers.Dense(2, activation="relu")(x)
        made = tf.Variable(lambda: tf.ones([2]) * 3, name="made")
        loss = jnp.sum(hidden * made.value)
        scope.gradients(loss, x)
        numbers.append([scope.number_of(tensor) for tensor in (x, hidden, loss)])
        assert scope.result(numbers[-1][2]) is loss
        return loss

    numbers = []
    step = Step(body)
    step(np.ones((4, 3), np.float32))
    step(np.ones((2, 3), np.float32))
    assert len(numbers) >= 2
    assert None not in numbers[0]
    assert all(found == numbers[0] for found in numbers)


def test_outside_of_a_model_fn_an_error_says_so():
    assert _scope.current_or_none() is None
    with pytest.raises(errors.ModelScopeError, match="inside of a `model_fn`"):
        v1.get_variable("v", ())


def test_variables_outside_of_a_scope_are_new_ones():
    first, second = keras.Variable(1.0, name="v"), keras.Variable(1.0, name="v")
    assert first is not second
    made = sx.Variable(1.0)
    made.assign_add(2.0)
    assert float(made.value) == 3


def test_functions_name_their_results():
    def body(scope, x):
        tf.nn.softmax(x, name="softmax_tensor")
        tf.argmax(x, axis=1, name="classes")
        with v1.name_scope("below"):
            loss = tf.reduce_mean(x, name="loss")
            tf.identity(loss, "loss")
            tf.sigmoid(x)
            tf.add(x, 1, name="sum")
        tensors = scope.tensors()
        assert list(tensors) == ["softmax_tensor", "classes", "below/loss", "below/loss_1", "below/sum"]
        return tensors["softmax_tensor"], tensors["below/loss"]

    softmax, loss = Step(body)(np.float32([[0, 0]]))
    assert (softmax.tolist(), float(loss)) == ([[0.5, 0.5]], 0)
    # Nobody is told outside.
    assert tf.identity(tf.constant(1), name="eager").item() == 1


def test_what_is_computed_behind_operations_runs_them():
    def body(scope, x):
        v = v1.get_variable("v", (), initializer=keras.initializers.Zeros())
        with v1.control_dependencies([v.assign_add(1.0)]):
            train_op = tf.reduce_mean(x)
        scope.run(train_op)
        return x

    step = Step(body)
    step(np.float32([1, 2]))
    assert float(step.value("v")) == 1
