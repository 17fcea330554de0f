"""`train_and_evaluate` of a small model, as a task of a cluster; started again and again by `killed_estimators`.

Every start of a task notes its process id and the steps that it did, or the checkpoints that it evaluated.
"""

import os
import pathlib
import time
from typing import Any

os.environ["KERAS_BACKEND"] = "jax"

import numpy as np

import stratax.tf as tf

ROWS, BATCH, STEPS, SAVE_EVERY = 43, 4, 60, 4

rng = np.random.default_rng(0)
FEATURES = rng.normal(size=(ROWS, 4)).astype(np.float32)
LABELS = FEATURES.sum(1, keepdims=True)


def model_fn(features: Any, labels: Any, mode: str) -> Any:
    """Two layers with dropout between them, so that random numbers have to go on where they were."""
    hidden = tf.layers.dense(features["x"], 8, activation=tf.nn.relu)
    hidden = tf.layers.dropout(hidden, 0.2, training=mode == tf.estimator.ModeKeys.TRAIN)
    predicted = tf.layers.dense(hidden, 1)
    loss = tf.losses.mean_squared_error(labels, predicted)
    metrics = {"error": tf.compat.v1.metrics.mean_absolute_error(labels, predicted)}
    train_op = tf.compat.v1.train.AdamOptimizer(0.01).minimize(loss, tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op, eval_metric_ops=metrics)


def train_input(input_context: Any) -> Any:
    """Each worker's part in a new order in each pass; batches go over the ends of passes."""
    dataset = tf.data.Dataset.from_tensor_slices(({"x": FEATURES}, LABELS))
    dataset = dataset.shard(input_context.num_input_pipelines, input_context.input_pipeline_id)
    return dataset.shuffle(16, seed=5).repeat().batch(BATCH)


def eval_input() -> Any:
    """All examples in order."""
    return tf.data.Dataset.from_tensor_slices(({"x": FEATURES}, LABELS)).batch(16)


def estimator(folder: pathlib.Path, **config: Any) -> Any:
    """The estimator of all tasks."""
    settings = {
        "tf_random_seed": 1,
        "save_checkpoints_steps": SAVE_EVERY,
        "keep_checkpoint_max": None,
        "log_step_count_steps": None,
        "save_summary_steps": None,
        **config,
    }
    return tf.estimator.Estimator(model_fn, str(folder / "model"), tf.estimator.RunConfig(**settings))


class Notes(tf.estimator.SessionRunHook):
    """Writes down each step, or the end of each evaluation, and takes its time."""

    def __init__(self, path: pathlib.Path, pause: float) -> None:
        self._path = path
        self._pause = pause
        with path.open("a") as notes:
            print("start", os.getpid(), file=notes)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Note the step in the file that the test reads."""
        with self._path.open("a") as notes:
            print(run_context.session.global_step, file=notes)
        time.sleep(self._pause)


def main(folder: pathlib.Path, pause: float) -> None:
    """Train or evaluate to the end."""
    here = tf.estimator.RunConfig()
    strategy = tf.distribute.MultiWorkerMirroredStrategy() if here.num_worker_replicas > 1 else None
    hook = Notes(folder / f"{here.task_type}.notes", pause)
    tf.estimator.train_and_evaluate(
        estimator(folder, train_distribute=strategy),
        tf.estimator.TrainSpec(train_input, max_steps=STEPS, hooks=[hook]),
        tf.estimator.EvalSpec(eval_input, steps=None, hooks=[hook], start_delay_secs=0, throttle_secs=0),
    )


def describe(folder: pathlib.Path) -> None:
    """Write the variables of all checkpoints and their metrics, for a training that has ended."""
    made = estimator(folder)
    for path in tf.train.get_checkpoint_state(made.model_dir).all_model_checkpoint_paths:
        reader = tf.train.load_checkpoint(path)
        names = sorted(reader.get_variable_to_shape_map())
        variables = {name: reader.get_tensor(name) for name in names if name != "save_counter"}
        metrics = made.evaluate(eval_input, checkpoint_path=path, name="described")
        numbers = {f"metrics {name}": np.float32(value) for name, value in metrics.items()}
        np.savez(folder / f"{os.path.basename(path)}.npz", **variables, **numbers)
