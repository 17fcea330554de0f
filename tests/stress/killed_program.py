"""A training program that goes on from its last checkpoint; started by `killed_workers`, as the tasks of a cluster.

Every worker notes the examples of each step that it computed. When training ends, the weights are written.
"""

import argparse
import os
import pathlib
import time
from typing import Any

os.environ["KERAS_BACKEND"] = "jax"

import jax.numpy as jnp
import keras
import numpy as np

import stratax as sx

ROWS, BATCH, EPOCHS, SAVE_EVERY = 297, 20, 4, 6


def make_data() -> sx.data.Dataset:
    """Examples with their numbers, in a new order in each epoch; the last batch of an epoch is smaller."""
    numbers = np.random.default_rng(0)
    x = numbers.normal(size=(ROWS, 8)).astype(np.float32)
    y = (x.sum(1, keepdims=True) > 0).astype(np.float32)
    examples = sx.data.Dataset.from_tensor_slices((np.arange(ROWS), x, y))
    return examples.shuffle(ROWS, seed=5).batch(BATCH).repeat(EPOCHS)


def main() -> None:
    """Trains to the end, from wherever the last checkpoint is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--pause", type=float, default=0.0, help="seconds after each step")
    options = parser.parse_args()

    keras.utils.set_random_seed(1)
    strategy = sx.distribute.MultiWorkerMirroredStrategy()
    with strategy.scope():
        model = keras.Sequential(
            [
                keras.Input((8,)),
                keras.layers.Dense(16, "relu"),
                keras.layers.Dropout(0.3),
                keras.layers.Dense(1),
            ]
        )
        optimizer = keras.optimizers.Adam(0.01)
        optimizer.build(model.trainable_variables)
        step = sx.Variable(0)
    iterator = iter(strategy.experimental_distribute_dataset(make_data()))
    checkpoint = sx.train.Checkpoint(model=model, optimizer=optimizer, iterator=iterator, step=step)
    manager = sx.train.CheckpointManager(checkpoint, str(options.folder / "checkpoints"), max_to_keep=2)
    manager.restore_or_initialize()
    losses = keras.losses.BinaryCrossentropy(from_logits=True, reduction="none")

    def replica_step(numbers: Any, x: Any, y: Any) -> Any:
        def loss() -> Any:
            return sx.distribute.compute_average_loss(losses(y, model(x, training=True)))

        value, gradients = sx.value_and_grad(loss, model.trainable_variables)()
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return value, jnp.asarray(numbers)

    @sx.function
    def train(batch: Any) -> Any:
        return strategy.run(replica_step, args=batch)

    worker = strategy.extended.share.index
    with (options.folder / f"worker{worker}.steps").open("a") as notes:
        print("attempt", os.getpid(), file=notes, flush=True)
        while (batch := next(iterator, None)) is not None:
            _, numbers = train(batch)
            seen = np.concatenate([np.ravel(each) for each in strategy.experimental_local_results(numbers)])
            print(int(step), *seen, file=notes, flush=True)
            step.assign_add(1)
            if int(step) % SAVE_EVERY == 0:
                manager.save()
            time.sleep(options.pause)
    checkpoint.sync()
    np.savez(
        options.folder / f"worker{worker}.npz",
        *model.get_weights(),
        *[v.numpy() for v in optimizer.variables],
    )


if __name__ == "__main__":
    main()
