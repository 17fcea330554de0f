"""One short training run on simulated devices, in a process of its own.

Started by `many_short_runs`. It sets the trap that makes XLA's CPU collectives deadlock: a small network, far more
steps than XLA queues for a device (32) dispatched without waiting, each between copies of fresh input to every device
and a second program with a collective of its own.
"""

import argparse
import faulthandler
import os
import time
from typing import Any

os.environ["KERAS_BACKEND"] = "jax"

import keras
import numpy as np

from stratax.cluster import simulate_devices
from stratax.core import function, value_and_grad
from stratax.distribute import MirroredStrategy, ReduceOp

BATCH, FEATURES, CLASSES = 64, 64, 10


def train(num_steps: int) -> tuple[float, float]:
    """Trains an MLP on random data.

    Args:
        num_steps: How many steps.

    Returns:
        The mean loss of the first and of the last five steps.
    """
    keras.utils.set_random_seed(0)
    strategy = MirroredStrategy()
    with strategy.scope():
        model = keras.Sequential([keras.layers.Dense(units, activation="relu") for units in (256, 256, 128)])
        model.add(keras.layers.Dense(CLASSES))
        model.build((None, FEATURES))
        optimizer = keras.optimizers.SGD(0.1)
    loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    def replica_step(x: Any, y: Any) -> Any:
        loss, gradients = value_and_grad(lambda: loss_of(y, model(x)), model.trainable_variables)()
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    @function
    def step(x: Any, y: Any) -> Any:
        return strategy.run(replica_step, args=(x, y))

    losses = []
    for x, y in batches(strategy, num_steps):
        # A second small program follows every step: its collective meets the next step's.
        losses.append(strategy.reduce(ReduceOp.SUM, step(x, y), axis=None))
    values = [float(loss) for loss in losses]
    return float(np.mean(values[:5])), float(np.mean(values[-5:]))


def batches(strategy: MirroredStrategy, num_steps: int) -> Any:
    """Yields per-replica inputs and labels, copied to the devices step by step."""
    numbers = np.random.default_rng(0)
    each = BATCH // strategy.num_replicas_in_sync
    inputs = numbers.normal(size=(strategy.num_replicas_in_sync, each, FEATURES)).astype(np.float32)
    labels = numbers.integers(0, CLASSES, (strategy.num_replicas_in_sync, each))
    for _ in range(num_steps):
        yield tuple(
            strategy.experimental_distribute_values_from_function(
                lambda context, given=given: given[context.replica_id_in_sync_group]
            )
            for given in (inputs, labels)
        )


def main() -> None:
    """Runs once and prints a line that starts with OK."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--devices", type=int, default=8)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=60.0, help="print every stack and end after so long")
    parser.add_argument(
        "--threads", type=int, help="how many threads XLA gets, instead of what Stratax chooses"
    )
    options = parser.parse_args()
    faulthandler.dump_traceback_later(options.seconds, exit=True)
    simulate_devices(options.devices)
    if options.threads is not None:
        os.environ["PJRT_NPROC"] = str(options.threads)
    started = time.perf_counter()
    first, last = train(options.steps)
    if not last < first:
        raise SystemExit(f"the loss did not fall: {first} to {last}")
    print(f"OK loss {first:.4f} to {last:.4f} in {time.perf_counter() - started:.1f} s")


if __name__ == "__main__":
    main()
