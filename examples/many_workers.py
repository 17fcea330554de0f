"""Handwritten digits, learned by several workers together.

Run it with: stratax launch --workers 2 --devices-per-worker 2 examples/many_workers.py
"""

import argparse
import pathlib

import example_data
import numpy as np

import stratax as sx

# First of all: it connects the workers, which has to happen before JAX starts. TF_CONFIG says who they are; without it
# this is the only one.
strategy = sx.distribute.MultiWorkerMirroredStrategy()

import keras  # noqa: E402

BATCH_SIZE = 60


def read_options() -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=pathlib.Path, help="a Keras mnist.npz [that of Keras' cache]")
    parser.add_argument("--limit", type=int, default=1500, help="learn from so many images at most [1500]")
    parser.add_argument("--epochs", type=int, default=3, help="how often they are seen [3]")
    parser.add_argument(
        "--backup",
        type=pathlib.Path,
        help="a folder that all workers see, where each epoch's state is kept: a program that is started again goes on",
    )
    return parser.parse_args()


def dataset_of(images: np.ndarray, labels: np.ndarray) -> sx.Dataset:
    """Global batches, of which each worker gets its part."""
    examples = (images.astype(np.float32) / 255, labels.astype(np.int32))
    return sx.Dataset.from_tensor_slices(examples).shuffle(len(labels), seed=0).batch(BATCH_SIZE)


def make_model() -> keras.Model:
    """A small convolutional network."""
    return keras.Sequential(
        [
            keras.layers.Input((28, 28, 1)),
            keras.layers.Conv2D(8, 3, strides=2, activation="relu"),
            keras.layers.Conv2D(16, 3, strides=2, activation="relu"),
            keras.layers.Flatten(),
            keras.layers.Dense(10),
        ]
    )


def main() -> None:
    options = read_options()
    train, test = (dataset_of(*part) for part in example_data.mnist(options.data, options.limit))
    keras.utils.set_random_seed(0)
    with strategy.scope():
        model = make_model()
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile(keras.optimizers.Adam(0.005), loss, metrics=["accuracy"])
    callbacks = [keras.callbacks.BackupAndRestore(options.backup)] if options.backup else []
    model.fit(train, epochs=options.epochs, callbacks=callbacks)
    test_loss, accuracy = model.evaluate(test, verbose=0)
    if sx.cluster.current().is_chief:
        print(f"{strategy.num_workers} workers, {strategy.num_replicas_in_sync} replicas")
        print(f"Loss: {test_loss:.4f}, Accuracy: {accuracy:.4f}")


if __name__ == "__main__":
    main()
