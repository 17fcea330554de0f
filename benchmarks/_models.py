"""The models that are trained on both sides, and their data."""

import dataclasses

import keras
import numpy as np

BATCH = 200
CLASSES = 10
LEARNING_RATE = 1e-3
_SHAPES = {"mlp": (784,), "cnn": (28, 28, 1), "digits": (28, 28, 1)}


@dataclasses.dataclass(frozen=True, slots=True)
class Data:
    """Random images and labels.

    Attributes:
        x: Images, float32, between 0 and 1, as the model takes them.
        y: Labels, int32.
    """

    x: np.ndarray
    y: np.ndarray

    @property
    def num_batches(self) -> int:
        """How many global batches there are."""
        return len(self.y) // BATCH


def make_data(kind: str, batches: int) -> Data:
    """Random data for `batches` global batches."""
    random = np.random.default_rng(0)
    x = random.random((batches * BATCH, *_SHAPES[kind]), np.float32)
    return Data(x, random.integers(0, CLASSES, batches * BATCH, np.int32))


def shape_of(kind: str) -> tuple[int, ...]:
    """The shape of an image, as the model takes it."""
    return _SHAPES[kind]


def make_model(kind: str) -> keras.Model:
    """The model, always with the same initial weights.

    Args:
        kind: `"mlp"`, 784-128-10 with 101,770 weights; `"cnn"`, two convolutions and a dense layer with 16,330; or
            `"digits"`, two convolutions and three dense layers with 4,764,330, as TensorFlow's guide to TPUs has it but
            with 32 filters.

    Returns:
        A built model that gives logits.
    """
    keras.utils.set_random_seed(1)
    layers = keras.layers
    if kind == "mlp":
        hidden = [layers.Dense(128, activation="relu")]
    elif kind == "digits":
        hidden = [
            layers.Conv2D(32, 3, activation="relu"),
            layers.Conv2D(32, 3, activation="relu"),
            layers.Flatten(),
            layers.Dense(256, activation="relu"),
            layers.Dense(128, activation="relu"),
        ]
    else:
        hidden = [
            layers.Conv2D(16, 3, strides=2, activation="relu"),
            layers.Conv2D(32, 3, strides=2, activation="relu"),
            layers.Flatten(),
        ]
    return keras.Sequential([layers.Input(_SHAPES[kind]), *hidden, layers.Dense(CLASSES)])


def make_optimizer() -> keras.optimizers.Optimizer:
    """The optimizer."""
    return keras.optimizers.Adam(LEARNING_RATE)


def make_metrics() -> tuple[keras.metrics.Metric, keras.metrics.Metric]:
    """The mean of the loss and the accuracy."""
    return keras.metrics.Mean(name="loss"), keras.metrics.SparseCategoricalAccuracy(name="accuracy")


def losses(y: object, logits: object) -> object:
    """The loss of each example."""
    return keras.losses.sparse_categorical_crossentropy(y, logits, from_logits=True)
