"""What trains a head: optimizers of Keras and of TensorFlow 1; all else is refused."""

import keras
import numpy as np
import pytest

import stratax.tf as tf
from stratax import errors

heads = tf.estimator


def regression(optimizer, **options):
    """A model_fn of a head for numbers and one layer."""

    def model_fn(features, labels, mode):
        logits = tf.layers.dense(features["x"], 1, kernel_initializer=tf.zeros_initializer(), name="line")
        head = heads.RegressionHead(name="own")
        return head.create_estimator_spec(features, mode, logits, labels, optimizer(), **options)

    return model_fn


def data():
    x = np.linspace(-1.0, 1.0, 16, dtype=np.float32)[:, None]
    return tf.data.Dataset.from_tensor_slices(({"x": x}, 3 * x + 1)).batch(16)


OLD = keras.optimizers.SGD(0.2)


class Own(tf.keras.optimizers.legacy.Optimizer):
    """Says by the rules of Keras 2 which operations a step is."""

    def get_updates(self, loss, params):
        gradients = tf.gradients(loss, params)
        steps = [variable.assign_sub(0.2 * each) for variable, each in zip(params, gradients, strict=True)]
        return [*steps, self.iterations.assign_add(1)]


@pytest.mark.parametrize(
    "optimizer",
    [
        lambda: keras.optimizers.SGD(0.2),
        lambda: OLD,
        lambda: Own(name="own"),
        lambda: tf.compat.v1.train.GradientDescentOptimizer(0.2),
    ],
)
def test_optimizers_of_keras_and_tensorflow_1_train_and_count_steps(tmp_path, optimizer):
    made = tf.estimator.Estimator(regression(optimizer), str(tmp_path))
    made.train(lambda: data().repeat(), steps=2)
    made.train(lambda: data().repeat(), steps=1)
    x = np.linspace(-1.0, 1.0, 16)
    kernel, bias = 0.0, 0.0
    for _ in range(3):
        error = kernel * x + bias - (3 * x + 1)
        kernel, bias = kernel - 0.4 * np.mean(error * x), bias - 0.4 * np.mean(error)
    assert made.get_variable_value("line/kernel") == pytest.approx(kernel, rel=1e-5)
    assert made.get_variable_value("line/bias") == pytest.approx(bias, rel=1e-5)
    found = made.evaluate(data)
    assert sorted(found) == [
        "average_loss/own",
        "global_step",
        "label/mean/own",
        "loss",
        "prediction/mean/own",
    ]
    assert found["global_step"] == 3
    assert found["average_loss/own"] == pytest.approx(
        np.mean((kernel * x + bias - (3 * x + 1)) ** 2), rel=1e-5
    )


@pytest.mark.parametrize(
    ("optimizer", "options", "message"),
    [
        (lambda: None, {}, "cannot both be None"),
        (lambda: OLD, {"train_op_fn": lambda loss: loss}, "cannot both be set"),
        (lambda: 3, {}, "is not an optimizer"),
        (lambda: OLD, {"update_ops": 3}, "update_ops should be a list"),
        (lambda: OLD, {"trainable_variables": 3}, "trainable_variables should be a list"),
    ],
)
def test_what_does_not_train_is_refused(tmp_path, optimizer, options, message):
    made = tf.estimator.Estimator(regression(optimizer, **options), str(tmp_path))
    with pytest.raises((errors.BadArgumentError, errors.BadTypeError), match=message):
        made.train(data)


@pytest.mark.parametrize(
    ("head", "scope"),
    [
        (heads.RegressionHead(), "training"),
        (heads.RegressionHead(name="own"), "training"),
        (heads.MultiHead([heads.RegressionHead(name="own")]), "training_1"),
    ],
)
def test_powers_of_adam_are_named_by_the_scope_of_training(tmp_path, head, scope):
    def model_fn(features, labels, mode):
        logits = tf.layers.dense(features["x"], 1)
        labels = {"own": labels} if isinstance(head, heads.MultiHead) else labels

        def train_op_fn(loss):
            adam = tf.compat.v1.train.AdamOptimizer()
            return adam.minimize(loss, tf.compat.v1.train.get_global_step())

        return head.create_estimator_spec(features, mode, logits, labels, train_op_fn=train_op_fn)

    made = tf.estimator.Estimator(model_fn, str(tmp_path)).train(data)
    # TensorFlow 2.15.
    found = [name for name in made.get_variable_names() if "power" in name]
    assert found == [f"{scope}/beta1_power", f"{scope}/beta2_power"]
