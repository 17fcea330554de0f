"""`add_loss` and `add_metric` as Keras 2 has them: the numbers are TensorFlow 2.15's."""

import numpy as np
import pytest

import stratax as sx
import stratax.tf as tf

K = tf.keras
X = np.arange(8.0, dtype="float32").reshape(4, 2)
Y = np.ones((4, 1), "float32")


def graph(units=1):
    inputs = K.Input((2,))
    return inputs, K.layers.Dense(units, kernel_initializer="ones", name="d")(inputs)


def fit(model, loss="mse", rate=0.001, y=Y, **kwargs):
    model.compile(K.optimizers.SGD(rate), loss)
    history = model.fit(X, y, verbose=0, shuffle=False, **kwargs).history
    return {name: np.round(values, 4).tolist() for name, values in history.items()}


def test_the_loss_of_a_model_without_another():
    inputs, hidden = graph(2)
    model = K.Model(inputs, hidden)
    model.add_loss(tf.reduce_mean(hidden * hidden))
    assert fit(model, None, 0.01, None) == {"loss": [69.0]}
    np.testing.assert_allclose(model.get_weights()[0], [[0.69, 0.69], [0.62, 0.62]], rtol=1e-6)


def test_losses_of_examples_are_told_as_their_mean_and_train_by_their_sum():
    inputs, hidden = graph(2)
    model = K.Model(inputs, hidden)
    model.add_loss(tf.reduce_mean(hidden * hidden, axis=1))
    assert fit(model, None, y=None, batch_size=2) == {"loss": [67.2879]}
    np.testing.assert_allclose(model.get_weights()[0], [[0.8776, 0.8776], [0.8499, 0.8499]], atol=1e-4)


def test_a_loss_of_what_lies_between_the_layers():
    inputs = K.Input((2,))
    mean = K.layers.Dense(2, kernel_initializer="ones")(inputs)
    log = K.layers.Dense(2, kernel_initializer="zeros")(inputs)
    code = K.layers.Lambda(lambda both: both[0] + tf.exp(0.5 * both[1]) * 0.0)([mean, log])
    outputs = K.layers.Dense(2, kernel_initializer="ones")(code)
    model = K.Model(inputs, outputs)
    divergence = -0.5 * K.backend.mean(1 + log - K.backend.square(mean) - K.backend.exp(log), axis=-1)
    model.add_loss(K.backend.mean(K.losses.mean_squared_error(inputs, outputs) + divergence))
    assert fit(model, None, y=None) == {"loss": [190.0]}


def test_several_losses_beside_one_of_compile_and_regularizers():
    inputs, hidden = graph()
    model = K.Model(inputs, hidden)
    model.add_loss([tf.reduce_mean(hidden), tf.reduce_sum(hidden) * 0.1])
    assert fit(model) == {"loss": [65.8]}
    inputs = K.Input((2,))
    layer = K.layers.Dense(1, "linear", True, "ones", kernel_regularizer="l2", activity_regularizer="l2")
    outputs = layer(inputs)
    model = K.Model(inputs, outputs)
    model.add_loss(tf.reduce_mean(outputs))
    assert fit(model, batch_size=2) == {"loss": [62.2321]}
    np.testing.assert_allclose(model.evaluate(X, Y, verbose=0), 47.1359, rtol=1e-5)


def test_losses_of_a_model_in_another_one_and_in_a_loop():
    inputs, hidden = graph(2)
    inner = K.Model(inputs, hidden)
    inner.add_loss(tf.reduce_mean(hidden))
    again = K.Input((2,))
    outer = K.Model(again, K.layers.Dense(1, kernel_initializer="ones")(inner(again)))
    assert fit(outer) == {"loss": [256.0]}
    inputs, hidden = graph(2)
    model = K.Model(inputs, hidden)
    model.add_loss(tf.reduce_mean(hidden * hidden))
    with tf.GradientTape() as tape:
        model(X)
        loss = sum(model.losses)
    np.testing.assert_allclose(loss, 69.0)
    np.testing.assert_allclose(
        tape.gradient(loss, model.trainable_variables)[0], [[31.0, 31.0], [38.0, 38.0]]
    )


def test_losses_that_are_functions():
    inputs, hidden = graph()
    model = K.Model(inputs, hidden)
    layer = model.get_layer("d")
    model.add_loss(lambda: tf.reduce_sum(tf.square(layer.kernel)))
    assert fit(model, rate=0.01, epochs=2) == {"loss": [58.0, 4.654]}

    class Scaling(K.layers.Layer):
        def build(self, shape):
            self.w = self.add_weight("w", (1,), initializer="ones")
            self.add_loss(lambda: 0.5 * tf.reduce_sum(self.w**2))

        def call(self, inputs):
            return inputs * self.w

    model = K.Sequential([K.layers.Dense(1, kernel_initializer="ones"), Scaling()])
    assert fit(model, rate=0.01, epochs=2) == {"loss": [56.5, 2.8361]}
    np.testing.assert_allclose(model.losses[0], 0.0117, atol=1e-4)


def test_a_sequential():
    model = K.Sequential([K.Input((2,)), K.layers.Dense(1, kernel_initializer="ones")])
    model.add_loss(tf.reduce_mean(model.outputs[0]))
    assert fit(model) == {"loss": [63.0]}
    np.testing.assert_allclose(model.get_weights()[0], [[0.941], [0.928]], atol=1e-5)
    assert len(model.layers) == 1


def test_a_metric_of_a_model():
    inputs, hidden = graph()
    model = K.Model(inputs, hidden)
    model.add_metric(tf.reduce_mean(hidden), name="level", aggregation="mean")
    model.compile(K.optimizers.SGD(0.001), "mse", metrics=["mae"])
    history = model.fit(X, Y, verbose=0, batch_size=2, shuffle=False, epochs=2).history
    np.testing.assert_allclose(history["loss"], [54.8069, 40.6084], atol=1e-4)
    np.testing.assert_allclose(history["mae"], [5.942, 5.1367], atol=1e-4)
    np.testing.assert_allclose(history["level"], [6.942, 6.0575], atol=1e-4)
    np.testing.assert_allclose(model.evaluate(X, Y, verbose=0), [30.7229, 4.4839, 5.3369], atol=1e-4)
    assert model.metrics_names == ["loss", "mae", "level"]


def test_metrics_in_calls_of_layers_and_models():
    class Telling(K.layers.Layer):
        def call(self, inputs):
            self.add_metric(tf.reduce_sum(inputs), name="act", aggregation="mean")
            self.add_loss(0.01 * tf.reduce_sum(inputs))
            return inputs

    inputs, hidden = graph()
    model = K.Model(inputs, Telling()(hidden))
    assert fit(model, batch_size=2) == {"loss": [54.9421], "act": [13.8836]}
    np.testing.assert_allclose(model.evaluate(X, Y, verbose=0), [41.6895, 24.4182], atol=1e-4)

    class Model(K.Model):
        def __init__(self):
            super().__init__()
            self.d = K.layers.Dense(1, kernel_initializer="ones")

        def call(self, inputs):
            outputs = self.d(inputs)
            self.add_metric(tf.reduce_sum(outputs), name="act")
            return outputs

    assert fit(Model(), batch_size=2) == {"loss": [54.8069], "act": [13.884]}


def test_a_metric_that_a_layer_has_and_updates():
    class Telling(K.layers.Layer):
        def __init__(self):
            super().__init__()
            self.level = K.metrics.Mean("level")

        def call(self, inputs):
            self.add_metric(self.level(inputs))
            return inputs

    inputs, hidden = graph()
    assert fit(K.Model(inputs, Telling()(hidden)), batch_size=2) == {"loss": [54.8069], "level": [6.942]}


@pytest.mark.parametrize("count", [1, 2])
def test_under_a_strategy(count):
    strategy = tf.distribute.MirroredStrategy([f"/cpu:{i}" for i in range(count)])
    with strategy.scope():
        inputs, hidden = graph()
        model = K.Model(inputs, hidden)
        model.add_loss(tf.reduce_mean(hidden))
        model.add_metric(hidden, name="level")
        assert fit(model, batch_size=4) == {"loss": [63.0], "level": [7.0]}


@pytest.mark.parametrize("ending", [None, ".h5", ".keras"])
def test_a_model_that_is_made_again(tmp_path, ending):
    inputs, hidden = graph()
    model = K.Model(inputs, hidden)
    model.add_loss(tf.reduce_mean(K.layers.Activation("relu")(hidden)))
    model.add_metric(hidden, name="level")
    if ending is None:
        again = K.Model.from_config(model.get_config())
        again.set_weights(model.get_weights())
        again.compile(K.optimizers.SGD(0.001), "mse")
    else:
        model.compile(K.optimizers.SGD(0.001), "mse")
        model.save(tmp_path / f"m{ending}")
        again = K.models.load_model(tmp_path / f"m{ending}")
    history = again.fit(X, Y, verbose=0).history
    assert {name: round(value, 4) for name, (value,) in history.items()} == {"loss": 63.0, "level": 7.0}


def test_what_is_refused():
    inputs, hidden = graph()
    model = K.Model(inputs, hidden)
    with pytest.raises(ValueError, match="Please provide a name for your metric"):
        model.add_metric(hidden)
    with pytest.raises(TypeError, match="Unknown keyword arguments.*'agregation'"):
        model.add_metric(hidden, name="a", agregation="mean")
    with pytest.raises(ValueError, match="Graph disconnected: cannot obtain value for"):
        model.add_loss(tf.reduce_mean(K.Input((2,))))
    with pytest.raises(
        sx.errors.BadArgumentError, match="is added to a model that is made of symbolic tensors"
    ):
        K.layers.Dense(1).add_loss(hidden)
    assert fit(model) == {"loss": [56.0]}
