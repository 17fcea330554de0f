"""A `fit` that goes on from its last backup; started by `killed_workers`, alone or as the tasks of a cluster.

Every worker notes the number of each step that it has done. When training ends, the weights are written.
"""

import argparse
import os
import pathlib
import signal
import time
from typing import Any

os.environ["KERAS_BACKEND"] = "jax"

import keras
import numpy as np

import stratax as sx

ROWS, BATCH, EPOCHS, SAVE_EVERY = 297, 20, 4, 4
STEPS_IN_EPOCH = -(-ROWS // BATCH)


def make_data(folder: pathlib.Path) -> sx.data.Dataset:
    """Examples of two files, in a new order in each epoch; the last batch of an epoch is smaller."""
    numbers = np.random.default_rng(0)
    rows = numbers.normal(size=(ROWS, 8)).astype(np.float32)
    files = [str(folder / f"{part}.tfrecord") for part in range(2)]
    for part, name in enumerate(files):
        if not os.path.exists(name):
            with sx.data.TFRecordWriter(f"{name}.{os.getpid()}") as writer:
                for row in rows[part::2]:
                    writer.write(row.tobytes())
            os.replace(f"{name}.{os.getpid()}", name)
    records = sx.data.TFRecordDataset(files).map(lambda record: sx.data.decode_raw(record, np.float32))
    examples = records.shuffle(100, seed=5).map(lambda row: (row, row[:1]))
    options = sx.data.Options()
    options.experimental_distribute.auto_shard_policy = sx.data.AutoShardPolicy.DATA
    return examples.batch(BATCH).with_options(options)


class Notes(keras.callbacks.Callback):
    """Writes down each step that was done.

    Args:
        file: Where.
        pause: How many seconds to wait after a step.
    """

    def __init__(self, file: Any, pause: float) -> None:
        super().__init__()
        self._file = file
        self._pause = pause
        self._epoch = 0

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Remembers the epoch."""
        self._epoch = epoch

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """Writes down the step."""
        print(self._epoch * STEPS_IN_EPOCH + batch, file=self._file, flush=True)
        time.sleep(self._pause)


class Layer(keras.layers.Dense):
    """A layer whose process is killed in the middle of a backup's write, if it is told to be."""

    saves_left = -1

    def save_own_variables(self, store: Any) -> None:
        """Kills the process when its time has come."""
        super().save_own_variables(store)
        Layer.saves_left -= 1
        if Layer.saves_left == 0:
            os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    """Trains to the end, from wherever the last backup is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--pause", type=float, default=0.0, help="seconds after each step")
    parser.add_argument(
        "--die-in-save", type=int, default=0, help="which save of the first start kills the chief"
    )
    parser.add_argument("--in-parts", action="store_true", help="each worker has a part of the kernels")
    options = parser.parse_args()

    keras.utils.set_random_seed(1)
    if options.in_parts:
        strategy: Any = sx.distribute.ShardedStrategy(layout={"kernel": ("shard",)})
    else:
        strategy = sx.distribute.MultiWorkerMirroredStrategy()
    with strategy.scope():
        model = keras.Sequential([keras.Input((8,)), Layer(16, "relu"), keras.layers.Dropout(0.3), Layer(1)])
        model.compile(keras.optimizers.Adam(0.01), "mse", metrics=["mae"])
    worker = strategy.extended.membership.share.index
    path = options.folder / f"worker{worker}.steps"
    if not path.exists():
        Layer.saves_left = 2 * options.die_in_save - 1  # Between the two layers' variables.
    with path.open("a") as notes:
        print("attempt", os.getpid(), file=notes, flush=True)
        backup = keras.callbacks.BackupAndRestore(options.folder / "backup", save_freq=SAVE_EVERY)
        history = model.fit(
            make_data(options.folder),
            epochs=EPOCHS,
            verbose=0,
            callbacks=[backup, Notes(notes, options.pause)],
        )
    last = [values[-1] for values in history.history.values()]
    variables = [variable.numpy() for variable in [*model.variables, *model.optimizer.variables]]
    np.savez(options.folder / f"worker{worker}.npz", np.asarray(last), *variables)


if __name__ == "__main__":
    main()
