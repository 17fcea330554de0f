"""What callbacks of Keras 2 log and take; the numbers are those of TensorFlow 2.15."""

import numpy as np
import pytest

import stratax.tf as tf

X, Y = np.ones((8, 2), np.float32), np.ones((8, 1), np.float32)


def fit(callback, epochs=3):
    model = tf.keras.Sequential([tf.keras.Input((2,)), tf.keras.layers.Dense(1, kernel_initializer="ones")])
    model.compile(tf.keras.optimizers.SGD(0.5), "mse")
    return model.fit(X, Y, epochs=epochs, verbose=0, callbacks=[callback]).history


@pytest.mark.parametrize(
    ("callback", "rates"),
    [
        (
            lambda: tf.keras.callbacks.LearningRateScheduler(lambda epoch: 0.5 / (epoch + 1)),
            [0.5, 0.25, 1 / 6],
        ),
        (
            lambda: tf.keras.callbacks.ReduceLROnPlateau("loss", 0.5, patience=1, min_delta=100.0),
            [0.5, 0.5, 0.25],
        ),
    ],
)
def test_the_learning_rate_is_logged_by_the_name_that_programs_plot(callback, rates):
    np.testing.assert_allclose(fit(callback())["lr"], rates, rtol=1e-6)


def test_a_model_is_saved_after_every_so_many_epochs(tmp_path):
    fit(tf.keras.callbacks.ModelCheckpoint(str(tmp_path / "{epoch}.h5"), period=2), epochs=5)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["2.h5", "4.h5"]


def test_the_metrics_of_a_batch_go_on_where_a_program_says_so():
    model = tf.keras.Sequential([tf.keras.Input((2,)), tf.keras.layers.Dense(1, kernel_initializer="ones")])
    model.compile(tf.keras.optimizers.SGD(0.0), "mse", metrics=["mae"])
    assert model.train_on_batch(X, Y) == [1.0, 1.0]
    assert model.train_on_batch(X, 0 * Y, reset_metrics=False) == [2.5, 1.5]
    assert model.test_on_batch(X, 0 * Y) == [4.0, 2.0]
    assert model.test_on_batch(X, Y, reset_metrics=False) == [2.5, 1.5]


def test_a_measure_that_keras_knows_nothing_of_is_to_fall():
    class Logging(tf.keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            logs["mine"] = [3.0, 2.0, 2.5, 2.6, 1.0][epoch]

    model = tf.keras.Sequential([tf.keras.Input((2,)), tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    stopping = tf.keras.callbacks.EarlyStopping("mine", patience=2)
    history = model.fit(X, Y, epochs=5, verbose=0, callbacks=[Logging(), stopping]).history
    assert len(history["loss"]) == 4
