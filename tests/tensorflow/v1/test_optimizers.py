"""Optimizers change variables as TensorFlow's, step by step; what TensorFlow gave is in `tests/golden`."""

import jax.numpy as jnp
import keras
import numpy as np
import pytest

import stratax as sx
import stratax.tf as tf
from stratax import errors
from stratax.tensorflow import v1
from stratax.tensorflow.estimator import tpu
from stratax.tensorflow.v1 import losses, train
from tests.golden import v1_cases, v1_references
from tests.tensorflow.v1.test_scope import Step

REFERENCES = v1_references.read()


def made_variables():
    """The two variables of the cases."""
    return {
        key: v1.get_variable(key, value.shape, initializer=lambda shape, dtype, value=value: value)
        for key, value in v1_cases.FIRST_VALUES.items()
    }


@pytest.mark.parametrize("key", v1_cases.OPTIMIZERS)
def test_ten_steps_and_all_slots_are_tensorflows(key):
    name, arguments = v1_cases.OPTIMIZERS[key]
    made = []

    def body(scope, gradients):
        step, variables = scope.global_step(), made_variables()
        more = {"global_step": step} if name == "AdagradDAOptimizer" else {}
        made.append(getattr(train, name)(**arguments, **more))
        pairs = [(gradients[path], variable) for path, variable in variables.items()]
        scope.run(made[-1].apply_gradients(pairs, global_step=step))

    step = Step(body)
    for number, gradients in enumerate(v1_cases.GRADIENTS):
        step(gradients)
        for path in v1_cases.FIRST_VALUES:
            np.testing.assert_allclose(
                step.state.variables[path].value,
                REFERENCES[f"optimizers|{key}|{path}"][number],
                rtol=1e-5,
                atol=1e-6,
                err_msg=f"{path}, step {number}",
            )
    references = {
        found.removeprefix(f"optimizers|{key}|"): value
        for found, value in REFERENCES.items()
        if found.startswith(f"optimizers|{key}|")
    }
    last = {found.removeprefix("last|"): value for found, value in references.items() if "last|" in found}
    assert sorted(step.names) == sorted(last)
    for path, value in last.items():
        np.testing.assert_allclose(
            step.state.variables[path].value, value, rtol=1e-5, atol=1e-6, err_msg=path
        )
    slots = {found.removeprefix("slot|"): value for found, value in references.items() if "slot|" in found}
    optimizer = made[-1]
    assert optimizer.get_slot_names() == sorted(slots)
    for slot, value in slots.items():
        own = optimizer.get_slot(step.state.variables["bias"], slot)
        np.testing.assert_allclose(own.value, value, rtol=1e-5, atol=1e-6, err_msg=slot)
    own = set(last) - {"global_step", *v1_cases.FIRST_VALUES}
    assert [variable.path for variable in optimizer.variables()] == sorted(own)


def sparse_step(key, made):
    (name, arguments), which, look_up, change = v1_cases.SPARSE[key]

    def body(scope, batch):
        table = v1.get_variable("table", (6, 2), initializer=lambda shape, dtype: v1_cases.SPARSE_TABLE)
        more = {"global_step": scope.global_step()} if name == "AdagradDAOptimizer" else {}
        made.append(getattr(train, name)(**arguments, **more))
        loss = tf.reduce_sum(look_up(tf, table, batch[which]) * batch["weights"])
        pairs = [(change(tf, gradient), each) for gradient, each in made[-1].compute_gradients(loss)]
        scope.run(made[-1].apply_gradients(pairs, global_step=scope.global_step()))

    return body


@pytest.mark.parametrize("key", v1_cases.SPARSE)
def test_rows_that_are_not_looked_up_change_as_tensorflows(key):
    made = []
    step = Step(sparse_step(key, made))
    for number, batch in enumerate(v1_cases.SPARSE_BATCHES):
        step(batch)
        wanted = REFERENCES[f"sparse|{key}|table"][number]
        np.testing.assert_allclose(
            step.value("table"), wanted, rtol=1e-5, atol=1e-6, err_msg=f"step {number}"
        )
    for slot in made[-1].get_slot_names():
        own = made[-1].get_slot(step.state.variables["table"], slot)
        wanted = REFERENCES[f"sparse|{key}|slot|{slot}"]
        np.testing.assert_allclose(own.value, wanted, rtol=1e-5, atol=1e-6, err_msg=slot)


@pytest.mark.parametrize("key", v1_cases.AVERAGES)
def test_ten_averages_are_tensorflows(key):
    arguments = v1_cases.AVERAGES[key]
    names = []

    def body(scope, given):
        step, variable = scope.global_step(), made_variables()["bias"]
        scope.names.give("given", given)
        more = {"num_updates": step} if "num_updates" in arguments else {}
        moving = train.ExponentialMovingAverage(**{**arguments, **more})
        with v1.control_dependencies([variable.assign_sub(given)]):
            update = moving.apply([variable, given])
        with v1.control_dependencies([update]):
            update = step.assign_add(1)
        names.append((moving.average_name(variable), moving.average(variable).path, moving.name))
        assert moving.average(step) is None
        assert moving.average_name(step) == f"global_step/{moving.name}"
        assert scope.collections.get("moving_average_variables") == [variable]
        restored = moving.variables_to_restore()
        assert restored[names[-1][0]] is variable
        assert restored["global_step"] is step
        assert "bias" not in restored
        scope.run(update)

    step = Step(body)
    references = {
        found.removeprefix(f"averages|{key}|"): value
        for found, value in REFERENCES.items()
        if found.startswith(f"averages|{key}|")
    }
    for number, gradients in enumerate(v1_cases.GRADIENTS):
        step(gradients["bias"])
        for path, values in references.items():
            np.testing.assert_allclose(
                step.state.variables[path].value, values[number], rtol=1e-5, atol=1e-6, err_msg=path
            )
    assert set(step.names) - {"dense/kernel"} == set(references)
    assert names[0] == (f"bias/{names[0][2]}",) * 2 + (arguments.get("name", "ExponentialMovingAverage"),)


def regression(optimizer, clip=False):
    """A step that fits a line by an optimizer."""

    def body(scope, x, y):
        kernel = v1.get_variable(
            "kernel", (3, 1), initializer=lambda shape, dtype: jnp.full(shape, 0.5, dtype)
        )
        loss = losses.mean_squared_error(y, x @ kernel.value)
        made = optimizer()
        pairs = made.compute_gradients(loss)
        if clip:
            pairs = [(gradient / jnp.maximum(1, jnp.linalg.norm(gradient)), each) for gradient, each in pairs]
        scope.run(made.apply_gradients(pairs, global_step=scope.global_step()))

    return body


DATA = np.random.default_rng(3).normal(size=(5, 8, 4)).astype("float32")
STRATEGIES = {
    "mirrored": lambda: sx.distribute.MirroredStrategy([f"/cpu:{index}" for index in range(4)]),
    "central": lambda: sx.distribute.CentralStorageStrategy([f"/cpu:{index}" for index in range(1, 5)]),
}


def trained(body, strategy=None):
    """The variables behind a few steps on a strategy, whose gradients are averaged as an Estimator's are."""
    state = v1.ModelState(1)

    def step(batch):
        x, y = batch[:, :3], batch[:, 3:]
        with v1.ModelScope(state, "train").entered(batch) as scope:
            body(scope, x, y)

    if strategy is None:
        program = sx.function(step, autograph=False)
        for batch in DATA:
            program(batch)
    else:
        run = strategy.extended.execution.call_for_each_replica
        with strategy.scope():
            program = sx.function(
                lambda batch: run(step, (batch,), {}, averages_gradients=True), autograph=False
            )
            dataset = sx.data.Dataset.from_tensor_slices(DATA).unbatch().batch(8)
            for batch in strategy.experimental_distribute_dataset(dataset):
                program(batch)
    return {name: np.asarray(variable.value) for name, variable in state.variables.items()}


@pytest.mark.parametrize("clip", [False, True])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_replicas_train_as_one_device(strategy, clip):
    body = regression(lambda: train.AdamOptimizer(0.1), clip)
    found, wanted = trained(body, STRATEGIES[strategy]()), trained(body)
    assert found.keys() == wanted.keys()
    assert found["global_step"] == 5
    for name, value in wanted.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-5, atol=1e-6, err_msg=name)


def lookups(optimizer):
    """A step that trains rows of a matrix, of which each replica looks up others."""

    def body(scope, x, y):
        table = v1.get_variable("table", (8, 3), initializer=keras.initializers.Ones())
        ids = jnp.clip(jnp.abs(x[:, 0]) * 3, 0, 7).astype(int)
        loss = losses.mean_squared_error(y[:, 0], tf.reduce_sum(tf.gather(table, ids) * x, 1))
        scope.run(optimizer().minimize(loss, global_step=scope.global_step()))

    return body


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_rows_that_no_replica_looks_up_stay(strategy):
    body = lookups(lambda: train.MomentumOptimizer(0.1, 0.9))
    found, wanted = trained(body, STRATEGIES[strategy]()), trained(body)
    np.testing.assert_allclose(found["table"], wanted["table"], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found["table/Momentum"], wanted["table/Momentum"], rtol=1e-5, atol=1e-6)
    whole = trained(lookups(lambda: tpu.CrossShardOptimizer(train.MomentumOptimizer(0.1, 0.9))))
    assert not np.allclose(whole["table"], wanted["table"], rtol=1e-3)


def test_numbers_may_be_arrays_variables_and_functions():
    def body(scope, x, y, rate):
        kernel = v1.get_variable("kernel", (3, 1), initializer=keras.initializers.Ones())
        loss = losses.mean_squared_error(y, x @ kernel.value)
        scope.run(train.GradientDescentOptimizer(rate(scope)).minimize(loss))

    def with_rate(rate):
        return trained(lambda scope, x, y: body(scope, x, y, rate))["kernel"]

    wanted = with_rate(lambda scope: 0.125)
    assert not np.allclose(wanted, 1.0)
    for rate in (
        lambda scope: np.float32(0.125),
        lambda scope: jnp.asarray(0.125),
        lambda scope: lambda: 0.125,
        lambda scope: v1.get_variable(
            "rate", (), trainable=False, initializer=lambda shape, dtype: jnp.full(shape, 0.125, dtype)
        ),
        lambda scope: train.exponential_decay(0.125, scope.global_step(), 10, 0.5),
    ):
        np.testing.assert_allclose(with_rate(rate), wanted, rtol=1e-6)


def test_what_is_minimized_may_be_a_function_of_some_variables():
    def body(scope, x, y):
        first, second = (
            v1.get_variable(name, (3, 1), initializer=keras.initializers.Ones()) for name in "ab"
        )
        optimizer = train.GradientDescentOptimizer(0.1, name="own")
        assert optimizer.get_name() == "own"
        operation = optimizer.minimize(
            lambda: losses.mean_squared_error(y, x @ (first.value + second.value)),
            var_list=[first],
            grad_loss=2.0,
        )
        assert operation.name == "own"
        assert scope.collections.get("train_op") == [operation]
        scope.run(operation)

    found = trained(body)
    assert not np.allclose(found["a"], 1.0)
    np.testing.assert_array_equal(found["b"], 1.0)


def keras_regression(optimizer, is_run=True):
    """A step that fits a line by an optimizer of Keras, made in the step."""

    def body(scope, x, y):
        kernel = v1.get_variable("kernel", (3, 1), initializer=keras.initializers.Ones())
        gradients = scope.derivatives.gradients(losses.mean_squared_error(y, x @ kernel.value), [kernel])
        operation = optimizer().apply_gradients(zip(gradients, [kernel], strict=True))
        assert scope.collections.get("train_op") == [operation]
        scope.run(v1.group(operation, scope.global_step().assign_add(1)) if is_run else None)

    return body


def test_keras_optimizers_apply_gradients_when_their_operation_runs():
    def own(scope, x, y):
        kernel = v1.get_variable("kernel", (3, 1), initializer=keras.initializers.Ones())
        loss = losses.mean_squared_error(y, x @ kernel.value)
        scope.run(train.MomentumOptimizer(0.1, 0.9).minimize(loss))

    # Keras' momentum has the learning rate in its sum, which is the same for one that stays.
    found = trained(keras_regression(lambda: keras.optimizers.SGD(0.1, momentum=0.9)))
    np.testing.assert_allclose(found["kernel"], trained(own)["kernel"], rtol=1e-5)
    assert found["global_step"] == 5
    assert found["sgd/iteration"] == 5
    left = trained(keras_regression(lambda: keras.optimizers.SGD(0.1), is_run=False))
    np.testing.assert_array_equal(left["kernel"], 1.0)
    assert left["sgd/iteration"] == 0


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_replicas_train_with_keras_optimizers_as_one_device(strategy):
    body = keras_regression(lambda: keras.optimizers.Adam(0.1))
    found, wanted = trained(body, STRATEGIES[strategy]()), trained(body)
    assert found.keys() == wanted.keys()
    for name, value in wanted.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-5, atol=1e-6, err_msg=name)


def test_constraints_hold_behind_each_step():
    def body(scope, x, y):
        kernel = v1.get_variable("kernel", (3, 1), initializer=keras.initializers.Ones())
        kernel.constraint = keras.constraints.UnitNorm()
        loss = losses.mean_squared_error(y, x @ kernel.value)
        scope.run(train.GradientDescentOptimizer(0.1).minimize(loss))

    np.testing.assert_allclose(np.linalg.norm(trained(body)["kernel"]), 1.0, rtol=1e-5)


def test_two_optimizers_of_one_name_have_slots_of_their_own():
    def body(scope, x, y):
        kernel = v1.get_variable("kernel", (3, 1), initializer=keras.initializers.Ones())
        loss = losses.mean_squared_error(y, x @ kernel.value)
        scope.run([train.AdamOptimizer().minimize(loss), train.AdamOptimizer().minimize(loss)])

    assert set(trained(body)) == {
        *("kernel", "kernel/Adam", "kernel/Adam_1", "kernel/Adam_2", "kernel/Adam_3"),
        *("beta1_power", "beta2_power", "beta1_power_1", "beta2_power_1"),
    }


@pytest.mark.parametrize(
    ("optimizer", "slots"),
    [
        (lambda: train.AdamOptimizer(), ["Adam", "Adam_1"]),
        (lambda: train.MomentumOptimizer(0.1, 0.9), ["Momentum"]),
        (lambda: train.RMSPropOptimizer(0.1, centered=True), ["RMSProp", "RMSProp_1", "RMSProp_2"]),
        (lambda: train.FtrlOptimizer(0.1), ["Ftrl", "Ftrl_1"]),
    ],
)
@pytest.mark.parametrize("around", ["train", "s"])
def test_slots_are_named_below_the_variable_scope_in_which_they_are_made(optimizer, slots, around):
    def body(scope, x, y):
        with v1.variable_scope("s"):
            kernel = v1.get_variable("kernel", (3, 1), initializer=keras.initializers.Ones())
        loss = losses.mean_squared_error(y, x @ kernel.value)
        with v1.variable_scope(around):
            scope.run(optimizer().minimize(loss))

    # As TensorFlow 2.15 names them.
    found = {name for name in trained(body) if "power" not in name}
    assert found == {"s/kernel", *(f"{around}/s/kernel/{slot}" for slot in slots)}


def test_averages_are_named_below_the_variable_scope_in_which_they_are_made():
    def body(scope, x, y):
        with v1.variable_scope("s"):
            kernel = v1.get_variable("kernel", (3, 1), initializer=keras.initializers.Ones())
        with v1.variable_scope("z"):
            scope.run(train.ExponentialMovingAverage(0.9).apply([kernel]))

    # TensorFlow 2.15.
    assert set(trained(body)) == {"s/kernel", "z/s/kernel/ExponentialMovingAverage"}


def test_mistakes_say_what_is_wrong():
    def body(scope, x, y):
        optimizer = train.GradientDescentOptimizer(0.1)
        with pytest.raises(ValueError, match="No variables to optimize"):
            optimizer.compute_gradients(jnp.sum(x))
        kernel = v1.get_variable("kernel", (3, 1))
        with pytest.raises(ValueError, match="No gradients provided for any variable.*kernel"):
            optimizer.minimize(jnp.sum(x))
        with pytest.raises(ValueError, match="No variables provided"):
            optimizer.apply_gradients([])
        with pytest.raises(ValueError, match="gate_gradients must be one of"):
            optimizer.minimize(jnp.sum(x), gate_gradients=7)
        with pytest.raises(ValueError, match="Invalid type int32 for the loss"):
            optimizer.minimize(jnp.sum(x.astype("int32")))
        with pytest.raises(TypeError, match="Optimizer does not say how it changes a variable"):
            train.Optimizer(False, "own").minimize(jnp.sum(kernel.value))
        with pytest.raises(TypeError, match="must be half, float, or double"):
            train.ExponentialMovingAverage(0.9).apply([scope.global_step()])

    trained(body)


def test_arguments_out_of_range_are_refused():
    with pytest.raises(ValueError, match="Must specify the optimizer name"):
        train.AdamOptimizer(name="")
    for make in (train.AdagradOptimizer, train.ProximalAdagradOptimizer):
        with pytest.raises(ValueError, match="initial_accumulator_value must be positive"):
            make(0.1, initial_accumulator_value=0.0)
    with pytest.raises(ValueError, match="initial_gradient_squared_accumulator_value must be positive"):
        train.AdagradDAOptimizer(0.1, None, initial_gradient_squared_accumulator_value=-1.0)
    for name in (
        "initial_accumulator_value",
        "l1_regularization_strength",
        "l2_regularization_strength",
        "l2_shrinkage_regularization_strength",
    ):
        with pytest.raises(ValueError, match=f"{name} needs to be positive or zero"):
            train.FtrlOptimizer(0.1, **{name: -1.0})
    with pytest.raises(ValueError, match="learning_rate_power needs to be negative or zero"):
        train.FtrlOptimizer(0.1, learning_rate_power=0.5)


def test_a_loss_is_a_function_outside_of_a_model_function():
    with pytest.raises(errors.BadArgumentError, match="should be a function outside of a `model_fn`"):
        train.AdamOptimizer().minimize(jnp.zeros(()))
