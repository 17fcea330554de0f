"""Stateful RNNs: their states go on from step to step and call to call, and are in checkpoints, as in TensorFlow."""

import keras
import numpy as np
import pytest

import stratax as sx
from stratax.distribute.strategies import MirroredStrategy

X = (np.arange(48) % 11 - 5).reshape(8, 3, 2).astype("float32") / 8
Y = np.ones((8, 1), "float32")


def make(kind="sequential"):
    """A model whose weights are the same in every process."""
    layers = [keras.layers.SimpleRNN(2, stateful=True), keras.layers.Dense(1)]
    entry = keras.Input(batch_shape=(4, 3, 2))
    if kind == "sequential":
        model = keras.Sequential([entry, *layers])
    else:
        model = keras.Model(entry, layers[1](layers[0](entry)))
    start = 0
    for variable in model.trainable_variables:
        size = int(np.prod(variable.shape))
        numbers = np.arange(start, start + size) % 7 - 3
        variable.assign(numbers.reshape(variable.shape).astype("float32") / 8)
        start += size
    model.compile("sgd", "mse")
    return model


def state(model):
    (rnn,) = (layer for layer in model.layers if isinstance(layer, keras.layers.RNN))
    return np.asarray(rnn.states[0]).ravel()


def close(found, *expected):
    np.testing.assert_allclose(np.ravel(found), expected, atol=2e-6)


# All numbers are TensorFlow 2.21's. Keras alone on JAX begins each step with zeros.
FITTED = -0.376769, -0.16862, -0.196165, 9e-05, -0.448582, -0.204613, -0.085168, -0.060817


@pytest.mark.parametrize("kind", ["sequential", "functional"])
def test_a_second_prediction_goes_on_from_the_first(kind):
    model = make(kind)
    first, second = (model.predict(X, batch_size=4, verbose=0) for _ in range(2))
    close(first, 0.237894, 0.211505, 0.233161, 0.248941, 0.228498, 0.249307, 0.224022, 0.242011)
    close(second, 0.237885, 0.210632, 0.233201, 0.249229, 0.228446, 0.249389, 0.223961, 0.241965)
    close(state(model), -0.378763, -0.172434, -0.198548, -0.004886, -0.450424, -0.208316, -0.08814, -0.064281)
    for layer in model.layers:
        if isinstance(layer, keras.layers.RNN):
            layer.reset_state()
    close(model.predict_on_batch(X[:4]), *first[:4, 0])


def test_evaluations_go_on():
    model = make()
    close([model.evaluate(X, Y, batch_size=4, verbose=0) for _ in range(2)], 0.586263, 0.586391)


def test_training_goes_on():
    model = make()
    losses = model.fit(X, Y, batch_size=4, epochs=2, verbose=0, shuffle=False).history["loss"]
    close(losses, 0.573418, 0.524377)
    close(state(model), *FITTED)


@pytest.mark.parametrize("replicas", [1, 2])
def test_a_checkpoint_has_the_state(tmp_path, replicas):
    strategy = MirroredStrategy([f"/cpu:{index}" for index in range(replicas)])
    with strategy.scope():
        model = make()
    model.fit(X, Y, batch_size=4, epochs=2, verbose=0, shuffle=False)
    path = sx.train.Checkpoint(model=model).save(tmp_path / "c")
    with strategy.scope():
        restored = make()
    for other in (restored, make()):
        sx.train.Checkpoint(model=other).restore(path).assert_existing_objects_matched()
        close(state(other), *FITTED)
        close(other.predict(X[:4], batch_size=4, verbose=0), 0.302266, 0.281271, 0.299227, 0.311399)
