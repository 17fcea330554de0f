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
INPUTS = ("whole", "sharded", "uneven")
SLOW_SECONDS = (
    0.0002  # For each example of worker 1, which reads ahead in a thread because of it; worker 0 does not.
)


def examples(first: int = 0, stop: int = ROWS) -> sx.data.Dataset:
    """Examples with their numbers."""
    numbers = np.random.default_rng(0)
    x = numbers.normal(size=(ROWS, 8)).astype(np.float32)
    y = (x.sum(1, keepdims=True) > 0).astype(np.float32)
    rows = slice(first, stop)
    return sx.data.Dataset.from_tensor_slices((np.arange(ROWS)[rows], x[rows], y[rows]))


def is_kept(number: int) -> bool:
    """Whether the filter of sharded input leaves an example."""
    return number % 7 != 3


def filtered(dataset: sx.data.Dataset, worker: int) -> sx.data.Dataset:
    """The examples that are kept, in a new order in each epoch."""

    def keeps(number: Any, x: Any, y: Any) -> bool:
        time.sleep(SLOW_SECONDS * worker)
        return is_kept(int(number))

    return dataset.shuffle(ROWS, seed=5).repeat(EPOCHS).filter(keeps)


def distributed(strategy: sx.distribute.Strategy, kind: str) -> Any:
    """The input of a run.

    Args:
        strategy: The strategy.
        kind: One of `INPUTS`: ``"whole"``: all workers read all of it, and the last batch of an epoch is smaller;
            ``"sharded"``: each worker reads every second of the examples that a filter leaves; ``"uneven"``: each
            worker has examples of its own, worker 0 more than the other, of which a filter leaves some.
    """
    if kind == "whole":
        return strategy.experimental_distribute_dataset(
            examples().shuffle(ROWS, seed=5).batch(BATCH).repeat(EPOCHS)
        )
    worker = strategy.extended.membership.share.index
    if kind == "sharded":
        options = sx.data.Options()
        options.experimental_distribute.auto_shard_policy = sx.data.AutoShardPolicy.DATA
        batches = filtered(examples(), worker).batch(BATCH).with_options(options)
        return strategy.experimental_distribute_dataset(batches)
    own = [examples(0, 180), examples(180, ROWS)]
    return strategy.distribute_datasets_from_function(
        lambda context: filtered(own[context.input_pipeline_id], worker).batch(BATCH // 2)
    )


def main() -> None:
    """Trains to the end, from wherever the last checkpoint is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--pause", type=float, default=0.0, help="seconds after each step, in worker 1")
    parser.add_argument("--input", choices=INPUTS, default="whole")
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
    iterator = iter(distributed(strategy, options.input))
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

    worker = strategy.extended.membership.share.index
    with (options.folder / f"worker{worker}.steps").open("a") as notes:
        print("attempt", os.getpid(), file=notes, flush=True)
        while (batch := next(iterator, None)) is not None:
            _, numbers = train(batch)
            seen = np.concatenate([np.ravel(each) for each in strategy.experimental_local_results(numbers)])
            print(int(step), *seen, file=notes, flush=True)
            step.assign_add(1)
            if int(step) % SAVE_EVERY == 0:
                manager.save()
            time.sleep(options.pause if worker else options.pause / 8)
    checkpoint.sync()
    np.savez(
        options.folder / f"worker{worker}.npz",
        *model.get_weights(),
        *[v.numpy() for v in optimizer.variables],
    )


if __name__ == "__main__":
    main()
