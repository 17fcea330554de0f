"""TensorFlow's own numbers: a custom loop under MirroredStrategy, run by TensorFlow, is reproduced.

The numbers are in the shared data folder: `golden/mirrored_custom_loop.npz`, described in `golden/README.md`.
"""

import itertools

import keras
import numpy as np
import pytest

import stratax as sx
from stratax.distribute import MirroredStrategy, ReduceOp, compute_average_loss
from tests import stressed

pytestmark = pytest.mark.exact

BATCH, EPOCHS = 40, 2
OPTIMIZERS = {
    "sgd": lambda: keras.optimizers.SGD(0.1, momentum=0.9),
    "adam": lambda: keras.optimizers.Adam(0.01),
    "adagrad": lambda: keras.optimizers.Adagrad(0.05),
    "rmsprop": lambda: keras.optimizers.RMSprop(0.003),
}


@pytest.fixture(scope="module")
def golden(shared):
    with np.load(shared / "golden" / "mirrored_custom_loop.npz") as numbers:
        return dict(numbers)


@pytest.fixture(scope="module")
def data(shared):
    with np.load(shared / "data" / "mnist.npz") as mnist:
        x = mnist["x_train"][:170].reshape(170, 784).astype("float32") / 255
        return x, mnist["y_train"][:170].astype("int32")


# A strategy does not look at the optimizer: each of them once, and each number of replicas.
QUICK = {("sgd", 4), ("adam", 2), ("adagrad", 1), ("rmsprop", 2)}


@pytest.mark.parametrize(
    ("optimizer_name", "replicas"),
    stressed.but(lambda *case: case in QUICK, itertools.product(OPTIMIZERS, [1, 2, 4])),
)
def test_tensorflows_custom_loop_is_reproduced(golden, data, optimizer_name, replicas):
    strategy = MirroredStrategy([f"/cpu:{i}" for i in range(replicas)])
    with strategy.scope():
        model = keras.Sequential([keras.layers.Dense(16, "relu"), keras.layers.Dense(10)])
        model.build((None, 784))
        model.set_weights([golden[name] for name in ("W0", "b0", "W1", "b1")])
        optimizer = OPTIMIZERS[optimizer_name]()
        accuracy = keras.metrics.SparseCategoricalAccuracy()
        loss_object = keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="none")

    def replica_step(x, y):
        with sx.GradientTape() as tape:
            logits = model(x, training=True)
            loss = compute_average_loss(loss_object(y, logits), global_batch_size=BATCH)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        accuracy.update_state(y, logits)
        return loss

    @sx.function
    def step(inputs):
        return strategy.reduce(ReduceOp.SUM, strategy.run(replica_step, args=inputs), axis=None)

    dataset = strategy.experimental_distribute_dataset(sx.Dataset.from_tensor_slices(data).batch(BATCH))
    losses = [float(step(inputs)) for _ in range(EPOCHS) for inputs in dataset]

    key = f"ctl_{optimizer_name}_r4"
    np.testing.assert_allclose(losses, golden[f"{key}_loss"], atol=1e-5)
    assert float(accuracy.result()) == pytest.approx(float(golden[f"{key}_acc"]), abs=1e-6)
    for index, weights in enumerate(model.get_weights()):
        np.testing.assert_allclose(weights, golden[f"{key}_w{index}"], atol=1e-4)
