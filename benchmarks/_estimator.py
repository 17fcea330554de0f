"""A step of `TPUEstimator.train`, on the devices there are."""

import itertools
import tempfile
import threading
from typing import Any

import jax
import keras

import stratax.tf as tf
from benchmarks import _measure, _models
from benchmarks._hand_written import HandWritten
from stratax import estimator as est
from stratax.estimator import tpu

_BATCHES = 100
_ENDLESS = 10**9
_LIMIT_SECONDS = 300.0


class _Paced(est.SessionRunHook):
    """Lets a training go on by so many dispatches at a time, on a thread of its own."""

    def __init__(self) -> None:
        self._left = 0
        self._go = threading.Semaphore(0)
        self._done = threading.Semaphore(0)
        self._is_over = False
        self._error: BaseException | None = None
        self.global_step: Any = None
        self._thread: threading.Thread | None = None

    def start(self, train: Any) -> None:
        """Begin the training, which waits before its first dispatch."""
        self._thread = threading.Thread(target=self._train, args=(train,), daemon=True)
        self._thread.start()

    def make(self, dispatches: int) -> None:
        """Make so many dispatches, and wait for the devices."""
        self._left = dispatches
        self._go.release()
        is_done = self._done.acquire(timeout=_LIMIT_SECONDS)
        if self._error is not None:
            raise RuntimeError("The training has failed.") from self._error
        if not is_done:
            raise TimeoutError(
                f"The training has not made {dispatches} dispatches in {_LIMIT_SECONDS} seconds."
            )

    def stop(self) -> None:
        """End the training, and wait for its thread."""
        self._is_over = True
        self._go.release()
        if self._thread is not None:
            self._thread.join(_LIMIT_SECONDS)

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Wait for the first turn."""
        self._go.acquire()

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Count, and hand the turn over."""
        self._left -= 1
        if self._left == 0:
            # Of all devices, as theirs are waited for: only one side's programs run at a time.
            jax.block_until_ready(self.global_step.value)
            self._done.release()
            self._go.acquire()
        if self._is_over:
            run_context.request_stop()

    def _train(self, train: Any) -> None:
        try:
            train()
        except BaseException as error:
            # Whoever waits for dispatches is told, instead of waiting for those that don't come.
            self._error = error
            self._done.release()


def against_hand_written(kind: str, steps: int, plan: _measure.Plan) -> _measure.Figure:
    """A step of training, `steps` in one program, against the same in JAX by hand; both take batches from arrays."""
    data = _models.make_data(kind, _BATCHES)
    theirs = HandWritten(kind, steps)
    passes = itertools.chain.from_iterable(theirs.batches(data) for _ in itertools.count())
    hook = _Paced()

    def run_theirs(count: int) -> None:
        for _ in range(count):
            loss = theirs.dispatch(*next(passes))
        jax.block_until_ready(loss)

    with tempfile.TemporaryDirectory() as folder:
        made = _estimator(kind, steps, folder, hook)
        hook.start(lambda: made.train(lambda params: _input(data, params), max_steps=_ENDLESS, hooks=[hook]))
        try:
            ours_seconds, theirs_seconds = _measure.in_turns(hook.make, run_theirs, plan=plan)
        finally:
            hook.stop()
    return _measure.ratio(
        [seconds / steps for seconds in ours_seconds],
        [seconds / steps for seconds in theirs_seconds],
        numerator="stratax",
        denominator="by_hand",
    )


def _input(data: _models.Data, params: dict[str, Any]) -> Any:
    dataset = tf.data.Dataset.from_tensor_slices((data.x, data.y)).shuffle(len(data.y)).repeat()
    return dataset.batch(params["batch_size"])


def _estimator(kind: str, steps: int, folder: str, hook: _Paced) -> tpu.TPUEstimator:
    def model_fn(features: Any, labels: Any, mode: str) -> tpu.TPUEstimatorSpec:
        hook.global_step = tf.train.get_global_step()
        logits = _network(kind, features)
        losses = _models.losses(labels, logits)
        loss = tf.reduce_mean(losses)
        # By hand they are counted too.
        mean, accuracy = _models.make_metrics()
        mean.update_state(losses)
        accuracy.update_state(labels, logits)
        optimizer = tpu.CrossShardOptimizer(tf.compat.v1.train.AdamOptimizer(_models.LEARNING_RATE))
        return tpu.TPUEstimatorSpec(mode, loss=loss, train_op=optimizer.minimize(loss, hook.global_step))

    strategy = tf.distribute.MirroredStrategy() if jax.device_count() > 1 else None
    config = tpu.RunConfig(
        tpu.TPUConfig(iterations_per_loop=steps),
        model_dir=folder,
        train_distribute=strategy,
        save_checkpoints_steps=_ENDLESS,
    )
    return tpu.TPUEstimator(model_fn, config=config, train_batch_size=_models.BATCH)


def _network(kind: str, x: Any) -> Any:
    """The network of `_models.make_model`, as a program of TensorFlow 1 writes it."""
    relu, layers = keras.activations.relu, tf.compat.v1.layers
    if kind == "mlp":
        return layers.dense(layers.dense(x, 128, activation=relu), _models.CLASSES)
    for filters in (16, 32):
        x = layers.conv2d(x, filters, 3, strides=2, activation=relu)
    return layers.dense(layers.flatten(x), _models.CLASSES)
