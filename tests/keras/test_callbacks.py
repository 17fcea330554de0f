"""Keras' callbacks under a strategy, and callbacks that read and write the model's state at every hook."""

import csv

import keras
import numpy as np
import pytest
from keras import layers


def make(rate=0.1):
    def build():
        model = keras.Sequential([layers.Dense(4, activation="tanh"), layers.Dense(1)])
        model.compile(keras.optimizers.SGD(rate, momentum=0.9), "mse")
        return model

    return build


def test_schedulers_of_the_learning_rate_act_as_in_keras(mirrored, train, assert_same_training, data):
    def run(strategy):
        callbacks = [
            keras.callbacks.LearningRateScheduler(lambda epoch, rate: rate * 0.5),
            keras.callbacks.ReduceLROnPlateau("loss", factor=0.1, patience=0, min_delta=10.0, cooldown=1),
        ]
        return train(strategy, make(), *data, batch_size=16, epochs=4, callbacks=callbacks)

    ours, theirs = run(mirrored(4)), run(None)
    assert_same_training(ours, theirs)
    assert len(set(ours[1].history["learning_rate"])) == 4


def test_early_stopping_restores_the_best_weights(mirrored, train, assert_same_training, data):
    x, y = data

    def run(strategy):
        stop = keras.callbacks.EarlyStopping("val_loss", patience=1, mode="max", restore_best_weights=True)
        return train(
            strategy, make(), x, y, batch_size=16, epochs=9, callbacks=[stop], validation_data=(x[:9], y[:9])
        )

    ours, theirs = run(mirrored(4)), run(None)
    assert len(ours[1].epoch) < 9
    assert_same_training(ours, theirs)


def test_files_that_callbacks_write(mirrored, train, data, tmp_path):
    x, y = data
    callbacks = [
        keras.callbacks.ModelCheckpoint(tmp_path / "at{epoch}.weights.h5", save_weights_only=True),
        keras.callbacks.ModelCheckpoint(tmp_path / "whole.keras"),
        keras.callbacks.CSVLogger(tmp_path / "log.csv"),
        keras.callbacks.BackupAndRestore(tmp_path / "backup"),
    ]
    model, history = train(mirrored(4), make(), x, y, batch_size=16, epochs=2, callbacks=callbacks)
    np.testing.assert_array_equal(
        keras.models.load_model(tmp_path / "whole.keras").predict(x, verbose=0), model.predict(x, verbose=0)
    )
    with mirrored(4).scope():
        inside = keras.models.load_model(tmp_path / "whole.keras")
    np.testing.assert_allclose(inside.predict(x, verbose=0), model.predict(x, verbose=0), rtol=1e-6)
    weights = model.get_weights()
    model.load_weights(tmp_path / "at1.weights.h5")
    assert (weights[0] != model.get_weights()[0]).any()
    model.load_weights(tmp_path / "at2.weights.h5")
    np.testing.assert_array_equal(weights[0], model.get_weights()[0])
    with open(tmp_path / "log.csv") as file:
        rows = [float(row["loss"]) for row in csv.DictReader(file)]
    np.testing.assert_allclose(rows, history.history["loss"], rtol=1e-6)


def test_an_interrupted_run_goes_on_where_it_was(mirrored, train, data, tmp_path):
    def stop(epoch, logs):
        if epoch == 1:
            raise KeyboardInterrupt

    def backup():
        return keras.callbacks.BackupAndRestore(tmp_path / "backup")

    with pytest.raises(KeyboardInterrupt):
        train(
            mirrored(4),
            make(),
            *data,
            batch_size=25,
            epochs=3,
            shuffle=False,
            callbacks=[backup(), keras.callbacks.LambdaCallback(on_epoch_begin=stop)],
        )
    resumed, history = train(
        mirrored(4), make(), *data, batch_size=25, epochs=3, shuffle=False, callbacks=[backup()]
    )
    assert history.epoch == [1, 2]
    whole, _ = train(mirrored(4), make(), *data, batch_size=25, epochs=3, shuffle=False)
    for left, right in zip(resumed.get_weights(), whole.get_weights(), strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-6)


HOOKS = [
    "on_train_begin",
    "on_epoch_begin",
    "on_train_batch_begin",
    "on_train_batch_end",
    "on_test_begin",
    "on_test_batch_end",
    "on_epoch_end",
    "on_train_end",
]


@pytest.mark.parametrize("steps", [1, 2])
def test_every_hook_reads_current_state_and_what_it_writes_counts(steps, mirrored, train, data):
    x, y = data
    seen = []

    def edit(model, hook):
        kernel, slot = model.trainable_variables[0], model.optimizer.variables[2]
        assert np.isfinite(kernel.numpy()).all()
        assert np.isfinite(slot.numpy()).all()
        seen.append((hook, int(model.optimizer.iterations.numpy())))
        for variable in (kernel, slot):
            variable.assign(keras.ops.ones_like(variable.value) * len(seen))
        model.optimizer.learning_rate = 0.0
        np.testing.assert_array_equal(kernel.numpy(), np.full(kernel.shape, len(seen)))

    callback = keras.callbacks.Callback()
    for hook in HOOKS:
        setattr(callback, hook, lambda *args, hook=hook, **kwargs: edit(callback.model, hook))

    def build():
        model = keras.Sequential([layers.Dense(1, use_bias=False)])
        model.compile(keras.optimizers.SGD(0.1, momentum=0.5), "mse", steps_per_execution=steps)
        return model

    model, _ = train(
        mirrored(4),
        build,
        x[:32],
        y[:32],
        batch_size=16,
        callbacks=[callback],
        validation_data=(x[:8], y[:8]),
    )
    assert {hook for hook, _ in seen} == set(HOOKS)
    assert [count for hook, count in seen if hook == "on_train_batch_end"] == ([1, 2] if steps == 1 else [2])
    np.testing.assert_array_equal(model.get_weights()[0], np.full((6, 1), len(seen)))


def test_a_callback_that_stops_training_ends_the_epoch(mirrored, train, data):
    class Stop(keras.callbacks.Callback):
        ended = 0

        def on_train_batch_end(self, batch, logs=None):
            self.ended += 1
            self.model.stop_training = batch == 1

    stop = Stop()
    model, history = train(mirrored(2), make(), *data, batch_size=8, epochs=5, callbacks=[stop])
    assert (stop.ended, history.epoch) == (2, [0])
    assert int(model.optimizer.iterations.numpy()) == 2


def test_a_callback_may_evaluate_and_predict(mirrored, train, data):
    x, y = data
    seen = []

    class Looks(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            seen.append(self.model.evaluate(x[:8], y[:8], verbose=0) - logs["val_loss"])
            assert self.model.predict(x[:3], verbose=0).shape == (3, 1)

    _, history = train(
        mirrored(2), make(), x, y, batch_size=25, epochs=2, callbacks=Looks(), validation_data=(x[:8], y[:8])
    )
    np.testing.assert_allclose(seen, [0.0, 0.0], atol=1e-6)
    assert len(history.history["loss"]) == 2


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_weights_stay_readable_after_an_interrupt_in_a_callback(error, mirrored, data):
    def stop(batch, logs):
        if batch == 1:
            raise error("stop here")

    with mirrored(4).scope():
        model = make()()
    callback = keras.callbacks.LambdaCallback(on_train_batch_end=stop)
    with pytest.raises(error, match="stop here"):
        model.fit(*data, batch_size=8, callbacks=[callback], verbose=0)
    assert all(
        np.isfinite(variable.numpy()).all() for variable in [*model.variables, *model.optimizer.variables]
    )
    assert int(model.optimizer.iterations.numpy()) == 2
    assert np.isfinite(model.fit(*data, batch_size=8, verbose=0).history["loss"]).all()


def test_weights_stay_readable_after_input_that_raises(mirrored, train, data):
    x, y = data

    def broken():
        yield x[:8], y[:8]
        raise RuntimeError("the disk is gone")

    with mirrored(4).scope():
        model = make()()
    with pytest.raises(RuntimeError, match="the disk is gone"):
        model.fit(broken(), verbose=0)
    assert all(np.isfinite(variable.numpy()).all() for variable in model.variables)
