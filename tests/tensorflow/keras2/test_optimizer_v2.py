"""Optimizers written by the rules of Keras 2's OptimizerV2 give TensorFlow 2.15's numbers."""

import keras
import numpy as np
import pytest

import stratax.tf as tf
from stratax import errors


class Own(tf.keras.optimizers.Optimizer):
    """Momentum with a second slot that begins with ones."""

    def __init__(self, learning_rate=0.1, beta=0.9, name="Own", **kwargs):
        super().__init__(name, **kwargs)
        self._set_hyper("learning_rate", kwargs.get("lr", learning_rate))
        self._set_hyper("decay", self._initial_decay)
        self._set_hyper("beta", beta)

    def _create_slots(self, var_list):
        for var in var_list:
            self.add_slot(var, "acc")
        for var in var_list:
            self.add_slot(var, "start", initializer=tf.ones_like(var))

    def _prepare_local(self, var_device, var_dtype, apply_state):
        super()._prepare_local(var_device, var_dtype, apply_state)
        apply_state[(var_device, var_dtype)]["beta_t"] = tf.identity(self._get_hyper("beta", var_dtype))

    def _resource_apply_dense(self, grad, var, apply_state=None):
        device, dtype = var.device, var.dtype.base_dtype
        state = (apply_state or {}).get((device, dtype)) or self._fallback_apply_state(device, dtype)
        acc, start = self.get_slot(var, "acc"), self.get_slot(var, "start")
        held = acc.assign(state["beta_t"] * acc + grad + 0.01 * start, use_locking=self._use_locking)
        return var.assign_sub(state["lr_t"] * held, use_locking=self._use_locking)

    def get_config(self):
        config = super().get_config()
        config.update({name: self._serialize_hyperparameter(name) for name in ("learning_rate", "beta")})
        return config


class Decayed(tf.keras.optimizers.Adam):
    """Adam that makes weights smaller first, as BERT's for TensorFlow 2 does."""

    def __init__(self, learning_rate=0.001, rate=0.1, name="Decayed", **kwargs):
        super().__init__(learning_rate, name=name, **kwargs)
        self.rate = rate

    def _prepare_local(self, var_device, var_dtype, apply_state):
        super()._prepare_local(var_device, var_dtype, apply_state)
        apply_state[(var_device, var_dtype)]["rate"] = tf.constant(self.rate)

    def apply_gradients(self, grads_and_vars, name=None, experimental_aggregate_gradients=True):
        return super().apply_gradients(
            list(grads_and_vars),
            name=name,
            experimental_aggregate_gradients=experimental_aggregate_gradients,
        )

    def _resource_apply_dense(self, grad, var, apply_state=None):
        state = apply_state[(var.device, var.dtype.base_dtype)]
        decay = var.assign_sub(state["lr_t"] * var * state["rate"], use_locking=self._use_locking)
        with tf.control_dependencies([decay]):
            return super()._resource_apply_dense(grad, var, apply_state=apply_state)


class Plain(tf.keras.optimizers.Optimizer):
    """A class that takes no state, and has no numbers of its own."""

    def _resource_apply_dense(self, grad, var):
        return var.assign_sub(0.5 * grad)


def schedule():
    return tf.keras.optimizers.schedules.PolynomialDecay(0.1, 10, 0.01)


def steps(optimizer, between=lambda step: None):
    v, u = tf.Variable([1.0, 2.0]), tf.Variable([[3.0]])

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(v * v) + tf.reduce_sum(u**3)
        optimizer.apply_gradients(zip(tape.gradient(loss, [v, u]), [v, u], strict=True))

    for number in range(4):
        step()
        between(number)
    return v, [*v.numpy(), float(u[0, 0])]


# What TensorFlow 2.15's `tf.keras.optimizers.legacy` gives for the same classes; `beta` is 0.2 in the last step.
@pytest.mark.parametrize(
    ("make", "expected", "slot"),
    [
        (lambda: Own(), [-0.03515001, -0.06515008, -16.494385], [0.9246, 1.8445998]),
        (lambda: Own(decay=0.5, beta=0.5), [0.4358466, 0.8744999, -1.2129177], [1.5162101, 3.0248766]),
        (lambda: Own(clipnorm=0.5), [0.833033, 1.6729466, 2.635248], [0.35958546, 0.705341]),
        (lambda: Own(schedule()), [0.07235859, 0.1493323, -9.959499], [1.1323166, 2.2589996]),
    ],
)
def test_the_numbers_of_an_optimizer_of_its_own(make, expected, slot):
    optimizer = make()

    def between(step):
        if step == 2:
            optimizer.beta = 0.2

    v, found = steps(optimizer, between)
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    np.testing.assert_allclose(optimizer.get_slot(v, "acc").numpy(), slot, rtol=1e-5)
    assert optimizer.get_slot_names() == ["acc", "start"]
    assert int(optimizer.iterations) == 4
    assert float(optimizer.beta) == pytest.approx(0.2)
    assert optimizer._name == "Own"


@pytest.mark.parametrize(
    ("rate", "expected"),
    [(0.1, [0.5710484, 1.5290332, 2.4906473]), (None, [0.6274452, 1.591476, 2.5580487])],
)
def test_the_numbers_of_a_kind_of_adam(rate, expected):
    optimizer = Decayed(schedule() if rate is None else rate)
    v, found = steps(optimizer)
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    assert optimizer.get_slot(v, "m").shape == (2,)
    assert isinstance(optimizer, keras.optimizers.Adam)


def test_rules_may_come_from_a_class_beside_the_optimizer():
    class Shrinking:
        def _resource_apply_dense(self, grad, var, apply_state=None):
            var.assign_sub(0.1 * var)
            return super()._resource_apply_dense(grad, var, apply_state=apply_state)

    class Shrunk(Shrinking, tf.keras.optimizers.SGD):
        pass

    _, found = steps(Shrunk(0.0))
    np.testing.assert_allclose(found, np.array([1, 2, 3]) * 0.9**4, rtol=1e-5)


def test_what_it_is_made_of_makes_another():
    config = Own(0.25, beta=0.5, clipnorm=1.0).get_config()
    assert config == {"name": "Own", "clipnorm": 1.0, "learning_rate": 0.25, "beta": 0.5}
    assert Own.from_config(config).get_config() == config
    assert Decayed(0.5).get_config()["learning_rate"] == 0.5


def test_a_class_without_a_state():
    _, found = steps(Plain("plain"))
    np.testing.assert_allclose(found[:2], [0.0, 0.0], atol=1e-6)
    assert Plain(name="plain", lr=0.5).learning_rate == 0.5


def test_a_strategy_trains_with_it():
    with tf.distribute.MirroredStrategy().scope():
        model = tf.keras.Sequential([tf.keras.layers.Dense(1, use_bias=False, kernel_initializer="ones")])
        model.compile(Decayed(0.1), "mse")
    x = np.arange(8, dtype=np.float32).reshape(4, 2)
    model.fit(x, np.ones((4, 1), np.float32), batch_size=2, epochs=2, verbose=0, shuffle=False)
    np.testing.assert_allclose(model.get_weights()[0].ravel(), [0.6416366, 0.6372546], rtol=1e-5)


def step_of(strategy, optimizer, v, *, aggregates):
    def replica(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.linalg.matvec(x, v) ** 2) / 8
        gradient = tape.gradient(loss, v)
        if not aggregates:
            gradient = tf.distribute.get_replica_context().all_reduce("sum", gradient)
        optimizer.apply_gradients([(gradient, v)], experimental_aggregate_gradients=aggregates)

    x = np.arange(16, dtype=np.float32).reshape(8, 2)
    (batch,) = strategy.experimental_distribute_dataset(tf.data.Dataset.from_tensor_slices(x).batch(8))
    tf.function(lambda batch: strategy.run(replica, args=(batch,)))(batch)
    return 2 * x.T @ x.sum(1) / 8


# Nadam makes a variable of a value when it is built, in the first step.
@pytest.mark.parametrize(
    "make", [lambda: tf.keras.optimizers.SGD(0.1), lambda: tf.keras.optimizers.Nadam(0.1)]
)
def test_gradients_are_summed_once(make):
    found = []
    for aggregates in (True, False):
        strategy = tf.distribute.MirroredStrategy()
        with strategy.scope():
            v = tf.Variable([1.0, 1.0])
            optimizer = make()
        gradient = step_of(strategy, optimizer, v, aggregates=aggregates)
        found.append(v.numpy())
    np.testing.assert_allclose(found[1], found[0], rtol=1e-6)
    if isinstance(optimizer, keras.optimizers.SGD):
        np.testing.assert_allclose(found[0], 1 - 0.1 * gradient, rtol=1e-5)


def test_updates_in_one_place_sum_gradients_themselves():
    strategy = tf.distribute.experimental.CentralStorageStrategy()
    with strategy.scope():
        v, optimizer = tf.Variable([1.0, 1.0]), tf.keras.optimizers.SGD(0.1)
    with pytest.raises(errors.StrategyError, match="Leave the argument"):
        step_of(strategy, optimizer, v, aggregates=False)
    gradient = step_of(strategy, optimizer, v, aggregates=True)
    np.testing.assert_allclose(v.numpy(), 1 - 0.1 * gradient, rtol=1e-5)


def test_what_a_variable_of_a_layer_has():
    layer = tf.keras.layers.Dense(1, kernel_initializer="ones")
    layer.build((None, 2))
    kernel = layer.kernel
    assert kernel.dtype.is_floating
    assert kernel.dtype.base_dtype == tf.float32
    assert kernel.dtype == "float32"
    assert kernel.device.endswith(":0")
    kernel.assign_add([[1.0], [2.0]], use_locking=True, read_value=False)
    kernel.scatter_nd_update([[0, 0]], [7.0])
    np.testing.assert_array_equal(kernel.read_value(), [[7.0], [3.0]])


@pytest.mark.parametrize(("kwargs", "word"), [({"momentum": 1}, "momentum"), ({"decay": -1.0}, "negative")])
def test_other_arguments_are_refused(kwargs, word):
    with pytest.raises(errors.BadArgumentError, match=word):
        Own(**kwargs)
