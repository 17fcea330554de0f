"""Overridden `train_step`, `test_step` and `predict_step`, in TensorFlow's signature and in JAX's."""

import keras
import numpy as np
import pytest
from keras import layers, ops

import stratax as sx
from tests.stressed import but


def net():
    return [layers.Dense(8, activation="tanh"), layers.Dense(1, activation="sigmoid")]


class TensorFlowStyle(keras.Sequential):
    """As the Keras guide writes it for TensorFlow."""

    def train_step(self, data):
        x, y, sample_weight = keras.utils.unpack_x_y_sample_weight(data)
        with sx.GradientTape() as tape:
            y_pred = self(x, training=True)
            loss = self.compute_loss(y=y, y_pred=y_pred, sample_weight=sample_weight)
        self.optimizer.apply(tape.gradient(loss, self.trainable_variables), self.trainable_variables)
        return self._track(loss, x, y, y_pred, sample_weight)

    def test_step(self, data):
        x, y, sample_weight = keras.utils.unpack_x_y_sample_weight(data)
        y_pred = self(x, training=False)
        loss = self.compute_loss(y=y, y_pred=y_pred, sample_weight=sample_weight)
        return self._track(loss, x, y, y_pred, sample_weight)

    def _track(self, loss, x, y, y_pred, sample_weight):
        for metric in self.metrics:
            if metric.name == "loss":
                metric.update_state(loss, sample_weight=x.shape[0])
            else:
                metric.update_state(y, y_pred, sample_weight=sample_weight)
        return {metric.name: metric.result() for metric in self.metrics}

    def predict_step(self, data):
        x, _, _ = keras.utils.unpack_x_y_sample_weight(data)
        return {"doubled": 2 * self(x, training=False)}


class JaxStyle(keras.Sequential):
    """As the Keras guide writes it for JAX."""

    def train_step(self, state, data):
        logs, state = super().train_step(state, data)
        return {**logs, "tripled_loss": 3 * logs["loss"]}, state

    def test_step(self, state, data):
        logs, state = super().test_step(state, data)
        return {**logs, "tripled_loss": 3 * logs["loss"]}, state

    def predict_step(self, state, data):
        outputs, rest = super().predict_step(state, data)
        return {"doubled": 2 * outputs}, rest


def compiled(kind):
    def make():
        model = kind(net())
        model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
        return model

    return make


@pytest.mark.parametrize("kind", but(lambda kind: kind is JaxStyle, [TensorFlowStyle, JaxStyle]))
def test_overridden_steps_train_as_keras_own_steps_do(kind, mirrored, train, data):
    x, y = data
    kwargs = {"batch_size": 16, "epochs": 2, "validation_data": (x[:9], y[:9])}
    model, ours = train(mirrored(4), compiled(kind), x, y, **kwargs)
    plain, theirs = train(None, compiled(keras.Sequential), x, y, **kwargs)
    for name, values in theirs.history.items():
        np.testing.assert_allclose(ours.history[name], values, rtol=1e-5, err_msg=name)
    if kind is JaxStyle:
        np.testing.assert_allclose(
            ours.history["tripled_loss"], 3 * np.array(theirs.history["loss"]), rtol=1e-5
        )
    for left, right in zip(model.get_weights(), plain.get_weights(), strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-5, atol=1e-6)
    predicted = model.predict(x, batch_size=16, verbose=0)
    np.testing.assert_allclose(predicted["doubled"], 2 * plain.predict(x, verbose=0), rtol=1e-5)


class OwnNames(keras.Sequential):
    """Returns metrics under other names, and numbers that are no metrics."""

    def train_step(self, data):
        x, y = data
        with sx.GradientTape() as tape:
            error = ops.mean(ops.square(self(x, training=True) - y))
        self.optimizer.apply(tape.gradient(error, self.trainable_variables), self.trainable_variables)
        self.seen.update_state(x[:, 0])
        return {
            "loss": error,
            "mean_feature": self.seen.result(),
            "examples": ops.sum(ops.ones_like(x[:, 0])),
        }


def test_a_step_may_return_metrics_under_its_own_names_and_plain_numbers(mirrored, train, data):
    x, y = data

    def make():
        model = OwnNames(net())
        model.seen = keras.metrics.Mean(name="seen")
        model.compile("sgd")
        return model

    model, history = train(mirrored(4), make, x[:48], y[:48], batch_size=16, epochs=2, shuffle=False)
    np.testing.assert_allclose(history.history["mean_feature"], [x[:48, 0].mean()] * 2, rtol=1e-4)
    # What is no metric is the mean over the replicas of the last step's values.
    assert history.history["examples"] == [4.0, 4.0]
    model.optimizer.learning_rate = 0.0
    last = model.fit(x[:48], y[:48], batch_size=16, shuffle=False, verbose=0).history["loss"]
    np.testing.assert_allclose(last, np.mean((model.predict(x[32:48], verbose=0) - y[32:48]) ** 2), rtol=1e-5)


def test_what_a_step_returns_stands_in_the_logs_of_a_batch_even_under_a_metrics_name(mirrored, train, data):
    class OwnLoss(keras.Sequential):
        def train_step(self, data):
            self.optimizer.apply([0.0 * v for v in self.trainable_variables], self.trainable_variables)
            return {"loss": ops.convert_to_tensor(5.0)}

    def make():
        model = OwnLoss([layers.Dense(1)])
        model.compile("sgd", "mse")
        return model

    seen = []
    callback = keras.callbacks.LambdaCallback(
        on_train_batch_end=lambda batch, logs: seen.append(float(logs["loss"]))
    )
    train(mirrored(2), make, *data, batch_size=25, callbacks=[callback])
    assert seen == [5.0, 5.0]


class GAN(keras.Model):
    """Two networks, two optimizers, no `call`: all variables are created in the first step."""

    def __init__(self):
        super().__init__()
        self.discriminator = keras.Sequential([layers.Dense(4, activation="relu"), layers.Dense(1)])
        self.generator = keras.Sequential([layers.Dense(4, activation="relu"), layers.Dense(6)])
        self.seeds = keras.random.SeedGenerator(1)
        self.trackers = [keras.metrics.Mean(name="d_loss"), keras.metrics.Mean(name="g_loss")]

    def compile(self, optimizers, loss):
        super().compile()
        self.optimizers, self.loss_function = optimizers, loss

    @property
    def metrics(self):
        return self.trackers

    def train_step(self, data):
        real, _ = data
        noise = keras.random.normal((real.shape[0], 3), seed=self.seeds)
        both = ops.concatenate([self.generator(noise), real])
        ones = ops.ones((real.shape[0], 1))
        labels = ops.concatenate([ones, 0 * ones])
        with sx.GradientTape() as tape:
            d_loss = self.loss_function(labels, self.discriminator(both))
        self._update(0, tape, d_loss, self.discriminator)
        with sx.GradientTape() as tape:
            g_loss = self.loss_function(0 * ones, self.discriminator(self.generator(noise)))
        self._update(1, tape, g_loss, self.generator)
        return {tracker.name: tracker.result() for tracker in self.trackers}

    def _update(self, which, tape, loss, network):
        gradients = tape.gradient(loss, network.trainable_weights)
        self.optimizers[which].apply_gradients(zip(gradients, network.trainable_weights, strict=True))
        self.trackers[which].update_state(loss)


def test_a_gan_of_the_keras_guide_trains_without_being_built_first(mirrored, train, data):
    def make():
        model = GAN()
        loss = keras.losses.BinaryCrossentropy(from_logits=True)
        model.compile([keras.optimizers.Adam(0.01), keras.optimizers.SGD(0.01)], loss)
        return model

    model, history = train(mirrored(4), make, *data, batch_size=16, epochs=3)
    assert set(history.history) == {"d_loss", "g_loss"}
    assert np.isfinite(list(history.history.values())).all()
    assert [int(optimizer.iterations.numpy()) for optimizer in model.optimizers] == [12, 12]
    assert {len(v.value.sharding.device_set) for v in model.trainable_variables} == {4}
    with mirrored(4).scope():
        model.compile(model.optimizers, model.loss_function)
    assert len(model.fit(*data, batch_size=16, verbose=0).history["d_loss"]) == 1


def test_an_overridden_compute_loss_is_used_by_fit_and_evaluate(mirrored, train, assert_same_training, data):
    class Squared(keras.Sequential):
        def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
            return 3 * ops.mean(ops.square(y - y_pred))

    def make():
        model = Squared([layers.Dense(1)])
        model.compile(keras.optimizers.SGD(0.05), "mse", metrics=["mae"])
        return model

    def plain():
        model = keras.Sequential([layers.Dense(1)])
        model.compile(keras.optimizers.SGD(0.05), "mse", loss_weights=[3.0], metrics=["mae"])
        return model

    ours = train(mirrored(4), make, *data, batch_size=16, validation_data=data)
    assert_same_training(ours, train(None, plain, *data, batch_size=16, validation_data=data))


def test_a_loss_that_is_no_number_is_refused(mirrored, data):
    with mirrored(2).scope():
        model = keras.Sequential([layers.Dense(1)])
        model.compile("sgd", keras.losses.MeanSquaredError(reduction="none"))
    with pytest.raises(ValueError, match=r"not a scalar.*Received: shape=\(5,\)"):
        model.fit(*data, batch_size=10, verbose=0)


def test_batch_statistics_are_averaged_over_the_replicas(mirrored, train, data):
    x, y = data

    def make():
        model = keras.Sequential([layers.BatchNormalization(momentum=0.0), layers.Dense(1)])
        model.compile("sgd", "mse")
        return model

    model, _ = train(mirrored(4), make, x[:16], y[:16], batch_size=16, shuffle=False)
    np.testing.assert_allclose(model.layers[0].moving_mean, x[:16].mean(0), rtol=1e-4, atol=1e-6)
    variances = np.mean([x[i : i + 4].var(0) for i in range(0, 16, 4)], 0)
    np.testing.assert_allclose(model.layers[0].moving_variance, variances, rtol=1e-4)


def test_dropout_masks_differ_between_replicas(mirrored):
    class Sees(keras.Sequential):
        def predict_step(self, data):
            return self(data[0] if isinstance(data, tuple) else data, training=True)

    with mirrored(4).scope():
        model = Sees([keras.Input((64,)), layers.Dropout(0.5, seed=3)])
        model.compile("sgd", "mse")
    masks = model.predict(np.ones((4, 64), "float32"), batch_size=4, verbose=0) > 0
    assert len({mask.tobytes() for mask in masks}) == 4
    assert 0.3 < masks.mean() < 0.7
    again = model.predict(np.ones((4, 64), "float32"), batch_size=4, verbose=0) > 0
    assert (again != masks).any()


def test_dropout_is_the_same_under_every_strategy_of_as_many_replicas(train, mirrored, data):
    def make():
        model = keras.Sequential([layers.Dropout(0.5, seed=2), layers.Dense(1)])
        model.compile("sgd", "mse")
        return model

    central = sx.distribute.CentralStorageStrategy(["/cpu:0", "/cpu:1"])
    left, right = (train(strategy, make, *data, batch_size=16)[0] for strategy in (mirrored(2), central))
    for ours, theirs in zip(left.get_weights(), right.get_weights(), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5)
