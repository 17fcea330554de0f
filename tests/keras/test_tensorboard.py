"""Keras' TensorBoard callback writes without TensorFlow."""

import importlib.util
import io

import keras
import numpy as np
import pytest
from keras import layers
from PIL import Image
from tensorboard.backend.event_processing import event_accumulator

from stratax import summary

pytestmark = [
    pytest.mark.skipif(
        importlib.util.find_spec("tensorflow") is not None, reason="TensorFlow writes the files here"
    ),
]


def make():
    model = keras.Sequential([keras.Input((6,)), layers.Dense(1)])
    model.compile("sgd", "mse")
    return model


@pytest.fixture
def read():
    def read(folder):
        events = event_accumulator.EventAccumulator(str(folder), size_guidance={"tensors": 0})
        events.Reload()
        return {tag: events.Tensors(tag) for tag in events.Tags()["tensors"]}

    return read


def values(events):
    return [float(event.tensor_proto.float_val[0]) for event in events], [event.step for event in events]


def test_metrics_weights_and_the_model_are_written(mirrored, train, read, data, tmp_path):
    x, y = data
    callback = keras.callbacks.TensorBoard(tmp_path, histogram_freq=1, write_images=True)
    model, history = train(
        mirrored(2), make, x, y, batch_size=25, epochs=2, callbacks=[callback], validation_data=(x[:8], y[:8])
    )
    written = read(tmp_path / "train")
    losses, steps = values(written["epoch_loss"])
    np.testing.assert_allclose(losses, history.history["loss"], rtol=1e-6)
    assert steps == [0, 1]
    np.testing.assert_allclose(values(written["epoch_learning_rate"])[0], [0.01, 0.01], rtol=1e-6)
    assert b'"Sequential"' in written["keras"][0].tensor_proto.string_val[0]
    kernel = model.trainable_variables[0].path
    assert len(written[f"{kernel}/histogram"]) == 2
    width, height, png = written[f"{kernel}/image"][0].tensor_proto.string_val
    image = Image.open(io.BytesIO(png))
    assert image.size == (int(width), int(height)) == (1, 6) or image.size == (6, 1)
    validation = read(tmp_path / "validation")
    np.testing.assert_allclose(values(validation["epoch_loss"])[0], history.history["val_loss"], rtol=1e-6)
    assert values(validation["evaluation_loss_vs_iterations"])[1] == [2, 4]


def test_evaluations_of_all_epochs_are_written_by_a_model_without_a_strategy(read, data, tmp_path):
    x, y = data
    model, written = make(), keras.callbacks.TensorBoard(tmp_path, update_freq=1)
    model.fit(
        x[:8], y[:8], batch_size=2, epochs=3, verbose=0, callbacks=[written], validation_data=(x[:8], y[:8])
    )
    assert values(read(tmp_path / "validation")["evaluation_loss_vs_iterations"])[1] == [4, 8, 12]


class Writing(layers.Layer):
    """Writes the mean of what it sees."""

    def call(self, x, training=False):
        if training:
            summary.scalar("seen", keras.ops.mean(x))
        return x


def test_what_layers_write_in_a_step_goes_to_the_callbacks_writer(mirrored, train, read, data, tmp_path):
    def make():
        model = keras.Sequential([keras.Input((6,)), Writing(name="writing"), layers.Dense(1)], name="model")
        model.compile("sgd", "mse")
        return model

    callback = keras.callbacks.TensorBoard(tmp_path, update_freq=2)
    train(mirrored(2), make, *data, batch_size=10, epochs=2, shuffle=False, callbacks=[callback])
    found, steps = values(read(tmp_path / "train")["model/writing/seen"])
    assert steps == [2, 4, 6, 8, 10]
    # The first replica's half of each second batch, in two epochs of five.
    starts = [(step - 1) % 5 * 10 for step in steps]
    np.testing.assert_allclose(found, [data[0][start : start + 5].mean() for start in starts], rtol=1e-5)


def test_every_second_batch_is_written_on_request(mirrored, train, read, data, tmp_path):
    callback = keras.callbacks.TensorBoard(tmp_path, update_freq=2, write_steps_per_second=True)
    train(mirrored(2), make, *data, batch_size=10, callbacks=[callback])
    written = read(tmp_path / "train")
    assert values(written["batch_loss"])[1] == [2, 4]
    assert all(rate > 0 for rate in values(written["batch_steps_per_second"])[0])
