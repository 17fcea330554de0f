"""A program's own optimizers, which say what one gradient does: the numbers and names of TensorFlow 2.15."""

import numpy as np
import pytest

import stratax.tf as tf2
from stratax import errors

tf = tf2.compat.v1
X, Y = np.arange(8, dtype=np.float32).reshape(4, 2) / 8, np.ones((4, 1), np.float32)


class Own(tf.train.Optimizer):
    """Momentum over the mean of a slot of another shape, times a number that is halved by each step."""

    def __init__(self, learning_rate=0.1, decay=0.9, name="Own"):
        super().__init__(False, name)
        self._rate, self._decay = learning_rate, decay

    def _create_slots(self, var_list):
        self._create_non_slot_variable(initial_value=1.0, name="power", colocate_with=var_list[0])
        for var in var_list:
            self._zeros_slot(var, "m", self._name)
            self._get_or_make_slot(var, tf.ones([2]) if len(var.shape) else tf.zeros([]), "row", self._name)

    def _prepare(self):
        self._rate_t = tf.convert_to_tensor(self._call_if_callable(self._rate), name="rate")

    def _power(self):
        return self._get_non_slot_variable("power", graph=tf.get_default_graph())

    def _resource_apply_dense(self, grad, var):
        m, row = self.get_slot(var, "m"), self.get_slot(var, "row")
        m_t = tf.assign(m, self._decay * m + grad, use_locking=self._use_locking)
        row_t = tf.assign_add(row, tf.ones_like(row) * 0.5)
        step = self._rate_t * m_t / tf.reduce_mean(row_t) * self._power()
        return tf.group(tf.assign_sub(var, step), m_t, row_t)

    def _finish(self, update_ops, name_scope):
        with tf.control_dependencies(update_ops):
            power = tf.assign(self._power(), self._power() * 0.5)
        return tf.group(*[*update_ops, power], name=name_scope)


class OfReferences(tf.train.Optimizer):
    """One that knows the variables of TensorFlow 1 only, and has one slot by an initializer."""

    def _create_slots(self, var_list):
        for var in var_list:
            self._get_or_make_slot_with_initializer(
                var, tf.constant_initializer(2.0), var.shape, tf.float32, "scale", self._name
            )

    def _apply_dense(self, grad, var):
        return tf.assign_sub(var, grad / self.get_slot(var, "scale"))


def trained(tmp_path, make, distribute=None):
    def model_fn(features, labels, mode):
        w = tf.get_variable("w", [2, 1], initializer=tf.ones_initializer())
        b = tf.get_variable("b", [], initializer=tf.zeros_initializer())
        loss = tf.reduce_mean((tf.matmul(features, w) + b - labels) ** 2)
        train_op = make().minimize(loss, global_step=tf.train.get_global_step())
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)

    config = tf.estimator.RunConfig(train_distribute=distribute)
    estimator = tf.estimator.Estimator(model_fn, tmp_path, config=config)
    size = 4 if distribute is None else 4 // distribute.num_replicas_in_sync
    estimator.train(lambda: tf.data.Dataset.from_tensor_slices((X, Y)).batch(size).repeat(), steps=5)
    return {name: estimator.get_variable_value(name).ravel() for name in estimator.get_variable_names()}


@pytest.mark.parametrize("replicas", [1, 2])
def test_the_numbers_and_names_of_an_optimizer_of_its_own(tmp_path, replicas):
    strategy = tf2.distribute.MirroredStrategy([f"CPU:{i}" for i in range(2)]) if replicas == 2 else None
    found = trained(tmp_path, Own, strategy)
    expected = {
        "b": [0.0839211717247963],
        "b/Own": [-0.6873742938041687],
        "b/Own_1": [2.5],
        "global_step": [5],
        "power": [0.03125],
        "w": [0.962744414806366, 0.9671789407730103],
        "w/Own": [0.9939441084861755, 0.9080223441123962],
        "w/Own_1": [3.5, 3.5],
    }
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=2e-6, err_msg=name)


def test_a_loop_of_ones_own_uses_one():
    v, own, plain = tf2.Variable([1.0, 2.0]), Own(), OfReferences(False, "plain")
    for _ in range(2):
        with tf2.GradientTape() as tape:
            loss = tf2.reduce_sum(v**2)
        own.apply_gradients([(tape.gradient(loss, v), v)])
    # By hand: m = 2, rows 1.5, power 1; then m = 0.9 * 2 + 2 * (1 - 0.4 / 3), rows 2, power 0.5.
    first = 1 - 0.2 / 1.5
    np.testing.assert_allclose(v.numpy()[0], first - 0.1 * (1.8 + 2 * first) / 2 * 0.5, rtol=1e-6)
    plain.apply_gradients([(tf2.constant([1.0, 1.0]), v)])
    assert plain.get_slot(v, "scale").numpy().tolist() == [2.0, 2.0]


def test_a_first_value_that_depends_on_the_input_is_refused(tmp_path):
    class Dependent(OfReferences):
        def _create_slots(self, var_list):
            for var in var_list:
                self._get_or_make_slot(var, var * 2.0, "scale", self._name)

        def compute_gradients(self, loss, **kwargs):
            self._loss = loss
            return super().compute_gradients(loss, **kwargs)

    class OfLoss(Dependent):
        def _create_slots(self, var_list):
            self._get_or_make_slot(var_list[0], tf.reshape(self._loss, []), "scale", self._name)

    with pytest.raises(errors.BadArgumentError, match="depends on what the program is given"):
        trained(tmp_path, lambda: OfLoss(False, "of_loss"))
