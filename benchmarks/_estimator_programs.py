"""Programs of Estimators that both sides run: `tf` is `tensorflow` 2.15 on one and `stratax.tf` on the other."""

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

BATCH = 200
_CLASSES = 10
# Few: TensorFlow makes the arrays a part of the graph.
_BATCHES = 10
_MIXED_BATCH = 256
_LEARNING_RATE = 1e-3
_ENDLESS = 10**9
_LIMIT_SECONDS = 300.0
_SHAPES = {"mlp": (784,), "cnn": (28, 28, 1), "mnist": (28, 28, 1)}


def data(kind: str, batches: int = _BATCHES) -> tuple[np.ndarray, np.ndarray]:
    """Random images and labels."""
    random = np.random.default_rng(0)
    x = random.random((batches * BATCH, *_SHAPES[kind]), np.float32)
    return x, random.integers(0, _CLASSES, batches * BATCH, np.int32)


def network(tf: Any, kind: str, x: Any, mode: str) -> Any:
    """Logits, as a program of TensorFlow 1 computes them.

    Args:
        tf: The module.
        kind: `"mlp"`, 784-128-10; `"cnn"`, two convolutions of stride 2 and a dense layer; or `"mnist"`, two of 5x5
            with pooling, and two dense layers with dropout.
        x: The images.
        mode: The mode.
    """
    layers, relu = tf.compat.v1.layers, tf.nn.relu
    if kind == "mlp":
        return layers.dense(layers.dense(x, 128, activation=relu), _CLASSES)
    if kind == "cnn":
        for filters in (16, 32):
            x = layers.conv2d(x, filters, 3, strides=2, activation=relu)
        return layers.dense(layers.flatten(x), _CLASSES)
    for filters in (32, 64):
        x = layers.conv2d(x, filters, 5, padding="same", activation=relu)
        x = layers.max_pooling2d(x, 2, 2)
    x = layers.dense(tf.reshape(x, [-1, 7 * 7 * 64]), 128, activation=relu)
    x = layers.dropout(x, 0.4, training=mode == tf.estimator.ModeKeys.TRAIN)
    return layers.dense(x, _CLASSES)


def paced_hook(tf: Any, wait: Callable[[], Any], fetch: str | None = None) -> Any:
    """A hook that lets an Estimator go on by so many dispatches at a time, on a thread of its own.

    Args:
        tf: The module.
        wait: Waits for the devices.
        fetch: What a turn's last step is asked for.
    """

    class Paced(tf.estimator.SessionRunHook):
        def __init__(self) -> None:
            self._left = 0
            self._go = threading.Semaphore(0)
            self._done = threading.Semaphore(0)
            self._is_over = False
            self._error: BaseException | None = None
            self._thread: threading.Thread | None = None

        def start(self, work: Any) -> None:
            """Begin the work, which waits before its first dispatch."""

            def run() -> None:
                try:
                    work()
                except BaseException as error:
                    # Whoever waits for dispatches is told, instead of waiting for those that don't come.
                    self._error = error
                    self._done.release()

            self._thread = threading.Thread(target=run, daemon=True)
            self._thread.start()

        def make(self, dispatches: int) -> None:
            """Make so many dispatches, and wait for the devices."""
            self._left = dispatches
            self._go.release()
            is_done = self._done.acquire(timeout=_LIMIT_SECONDS)
            if self._error is not None:
                raise RuntimeError("The Estimator has failed.") from self._error
            if not is_done:
                raise TimeoutError(f"{dispatches} dispatches have not been made in {_LIMIT_SECONDS} seconds.")

        def stop(self) -> None:
            """End the work, and wait for its thread."""
            self._is_over = True
            self._go.release()
            if self._thread is not None:
                self._thread.join(_LIMIT_SECONDS)

        def after_create_session(self, session: Any, coord: Any) -> None:
            """Wait for the first turn."""
            self._go.acquire()

        def before_run(self, run_context: Any) -> Any:
            """Ask for the value of the turn's last step."""
            return tf.estimator.SessionRunArgs(fetch) if fetch and self._left == 1 else None

        def after_run(self, run_context: Any, run_values: Any) -> None:
            """Count, and hand the turn over."""
            self._left -= 1
            if self._left == 0:
                wait()
                self._done.release()
                self._go.acquire()
            if self._is_over:
                run_context.request_stop()

    return Paced()


class Program:
    """An Estimator of one of the networks.

    Args:
        tf: The module.
        kind: The network.
        folder: Its model_dir.
        steps: How many steps one program of a TPUEstimator runs; None for an Estimator.
        strategy: The strategy.
        use_tpu: Whether the TPUEstimator trains as on a TPU.
        wait: Waits for a variable's value, on all devices; None where nobody has to wait.
        batches: How many batches there are before they come again.
    """

    def __init__(
        self,
        tf: Any,
        kind: str,
        folder: str,
        *,
        steps: int | None = None,
        strategy: Any = None,
        use_tpu: bool = False,
        wait: Callable[[Any], Any] | None = None,
        batches: int = _BATCHES,
    ) -> None:
        self.tf = tf
        self.kind = kind
        self.hook = paced_hook(tf, lambda: None if wait is None else wait(self._waited_for))
        self._data = data(kind, batches)
        self._waited_for: Any = None
        self._use_tpu = use_tpu
        tf.compat.v1.logging.set_verbosity(tf.compat.v1.logging.ERROR)
        if steps is None:
            config = tf.estimator.RunConfig(
                folder, train_distribute=strategy, eval_distribute=strategy, save_checkpoints_steps=_ENDLESS
            )
            self.estimator = tf.estimator.Estimator(self._model, config=config)
            return
        tpu = tf.compat.v1.estimator.tpu
        config = tpu.RunConfig(
            tpu.TPUConfig(iterations_per_loop=steps),
            model_dir=folder,
            train_distribute=strategy,
            save_checkpoints_steps=_ENDLESS,
        )
        self.estimator = tpu.TPUEstimator(
            self._tpu_model,
            config=config,
            train_batch_size=BATCH,
            use_tpu=use_tpu,
            # TensorFlow exports for TPUs otherwise, and says so.
            export_to_tpu=False,
        )

    def begin(self, *hooks: Any) -> None:
        """Begin to train without end, by turns."""
        hook = self.hook
        self.hook.start(lambda: self.estimator.train(self.batches, max_steps=_ENDLESS, hooks=[*hooks, hook]))

    def train_one(self) -> None:
        """Train one step, from the last checkpoint to the next."""
        self.estimator.train(self.batches, steps=1)

    def batches(self, params: Any = None) -> Any:
        """The input function: batches without end, in a random order."""
        dataset = self.tf.data.Dataset.from_tensor_slices(self._data).shuffle(len(self._data[1])).repeat()
        return dataset.batch(BATCH)

    def _model(self, features: Any, labels: Any, mode: str) -> Any:
        logits, loss, train_op = self._step(features, labels, mode)
        if loss is None:
            return self.tf.estimator.EstimatorSpec(mode, predictions=logits)
        found = self.tf.argmax(logits, 1)
        metrics = {"accuracy": self.tf.compat.v1.metrics.accuracy(labels, found)}
        if mode == self.tf.estimator.ModeKeys.EVAL:
            self._waited_for = self.tf.compat.v1.local_variables()[0]
        return self.tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op, eval_metric_ops=metrics)

    def _tpu_model(self, features: Any, labels: Any, mode: str, params: Any) -> Any:
        _, loss, train_op = self._step(features, labels, mode)
        return self.tf.compat.v1.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, train_op=train_op)

    def _step(self, features: Any, labels: Any, mode: str) -> tuple[Any, Any, Any]:
        tf = self.tf
        v1 = tf.compat.v1
        logits = network(tf, self.kind, features, mode)
        if mode == tf.estimator.ModeKeys.PREDICT:
            return logits, None, None
        loss = v1.losses.sparse_softmax_cross_entropy(labels, logits)
        optimizer = v1.train.AdamOptimizer(_LEARNING_RATE)
        if self._use_tpu:
            optimizer = tf.contrib.tpu.CrossShardOptimizer(optimizer)
        self._waited_for = v1.train.get_global_step()
        return logits, loss, optimizer.minimize(loss, self._waited_for)


class Classifier:
    """A DNNClassifier of 20 columns: numbers, buckets, vocabularies, hashed strings, ids and crossed features.

    Args:
        tf: The module.
        folder: Its model_dir.
    """

    def __init__(self, tf: Any, folder: str) -> None:
        tf.compat.v1.logging.set_verbosity(tf.compat.v1.logging.ERROR)
        self.hook = paced_hook(tf, lambda: None, "global_step")
        self._tf = tf
        self._data = _mixed_data()
        config = tf.estimator.RunConfig(folder, save_checkpoints_steps=_ENDLESS)
        self._estimator = tf.estimator.DNNClassifier([64, 32], _mixed_columns(tf), config=config)

    def begin(self) -> None:
        """Begin to train without end, by turns."""
        hook = self.hook
        hook.start(lambda: self._estimator.train(self._batches, max_steps=_ENDLESS, hooks=[hook]))

    def _batches(self) -> Any:
        dataset = self._tf.data.Dataset.from_tensor_slices(self._data).shuffle(1000).repeat()
        return dataset.batch(_MIXED_BATCH)


def _mixed_data() -> tuple[dict[str, np.ndarray], np.ndarray]:
    random = np.random.default_rng(0)
    rows = 20_000
    features = {f"number{i}": random.standard_normal(rows, np.float32) for i in range(8)}
    for i in range(3):
        features[f"word{i}"] = np.array([f"word{id}" for id in random.integers(0, 110, rows)], object)
        features[f"user{i}"] = np.array([f"user-{id}" for id in random.integers(0, 5000, rows)], object)
    features |= {f"id{i}": random.integers(0, 50, rows) for i in range(2)}
    return features, random.integers(0, 2, rows, np.int32)


def _mixed_columns(tf: Any) -> list[Any]:
    make = tf.feature_column
    numbers = [make.numeric_column(f"number{i}") for i in range(8)]
    buckets = [make.bucketized_column(number, [-1.0, -0.5, 0.0, 0.5, 1.0]) for number in numbers[:2]]
    vocabulary = [f"word{id}" for id in range(100)]
    words = [make.categorical_column_with_vocabulary_list(f"word{i}", vocabulary) for i in range(3)]
    users = [make.categorical_column_with_hash_bucket(f"user{i}", 1000) for i in range(3)]
    ids = [make.categorical_column_with_identity(f"id{i}", 50) for i in range(2)]
    crossed = [
        make.crossed_column(["word0", "user0"], 1000),
        make.crossed_column([buckets[0], "word1"], 1000),
    ]
    return [
        *numbers,
        *buckets,
        *(make.embedding_column(column, 8) for column in (*words, *crossed)),
        *(make.embedding_column(column, 16) for column in users),
        *(make.indicator_column(column) for column in ids),
    ]
