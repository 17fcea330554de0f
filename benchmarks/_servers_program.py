"""A coordinator with a parameter server and workers in processes of their own, for both libraries.

`python -m benchmarks._servers_program MODULE CLUSTER JOB INDEX` is one of the tasks that serve.
"""

import importlib
import json
import os
import socket
import subprocess
import sys
import threading
import time
from typing import Any

import numpy as np

BATCH = 200
_BATCHES = 10
_CLASSES = 10
_POLL_SECONDS = 1.0


class Program:
    """Schedules functions on workers.

    Args:
        tf: The module.
        workers: How many workers there are.
    """

    def __init__(self, tf: Any, workers: int) -> None:
        sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(workers + 1)]
        addresses = [f"127.0.0.1:{each.getsockname()[1]}" for each in sockets]
        for each in sockets:
            each.close()
        cluster = {"ps": addresses[:1], "worker": addresses[1:]}
        tasks = [("ps", 0), *(("worker", index) for index in range(workers))]
        command = [sys.executable, "-m", "benchmarks._servers_program", tf.__name__, json.dumps(cluster)]
        self._processes = [
            subprocess.Popen([*command, job, str(index)], stdout=subprocess.DEVNULL) for job, index in tasks
        ]
        resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(
            tf.train.ClusterSpec(cluster), rpc_layer="grpc"
        )
        strategy = tf.distribute.ParameterServerStrategy(resolver)
        self._coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
        self._empty = tf.function(lambda: tf.constant(0.0))
        self._step, self._iterator = self._made(tf, strategy)
        self.run_empty(1)
        self.run_steps(1)

    def _made(self, tf: Any, strategy: Any) -> tuple[Any, Any]:
        random = np.random.default_rng(0)
        shapes = ((784, 128), (128,), (128, _CLASSES), (_CLASSES,))
        with strategy.scope():
            weights = [tf.Variable((random.normal(size=shape) * 0.05).astype("float32")) for shape in shapes]
            optimizer = tf.keras.optimizers.SGD(0.01)
            optimizer.build(weights)

        def dataset_fn(context: Any) -> Any:
            random = np.random.default_rng(0)
            x = random.random((_BATCHES * BATCH, 784), np.float32)
            y = random.integers(0, _CLASSES, _BATCHES * BATCH, np.int32)
            return tf.data.Dataset.from_tensor_slices((x, y)).batch(BATCH).cache().repeat().prefetch(2)

        def replica_fn(batch: Any) -> Any:
            x, y = batch
            with tf.GradientTape() as tape:
                hidden = tf.nn.relu(tf.matmul(x, weights[0]) + weights[1])
                logits = tf.matmul(hidden, weights[2]) + weights[3]
                losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits)
                loss = tf.reduce_mean(losses)
            gradients = tape.gradient(loss, weights)
            optimizer.apply_gradients(zip(gradients, weights, strict=True))
            return loss

        def step(iterator: Any) -> Any:
            return strategy.run(replica_fn, args=(next(iterator),))

        def per_worker() -> Any:
            return strategy.distribute_datasets_from_function(dataset_fn)

        dataset = self._coordinator.create_per_worker_dataset(tf.function(per_worker))
        return tf.function(step), iter(dataset)

    def run_empty(self, count: int) -> None:
        """Schedules so many closures that do nothing, and waits for them."""
        for _ in range(count):
            self._coordinator.schedule(self._empty)
        self._coordinator.join()

    def run_steps(self, count: int) -> None:
        """Schedules so many steps, and waits for them."""
        for _ in range(count):
            self._coordinator.schedule(self._step, args=(self._iterator,))
        self._coordinator.join()

    def close(self) -> None:
        """Ends the tasks."""
        for process in self._processes:
            process.kill()
            process.wait()


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_POLL_SECONDS)
    os._exit(1)


def main() -> None:
    """Serves until the process that has started this one is gone."""
    module, cluster, job, index = sys.argv[1:]
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    tf = importlib.import_module(module)
    tf.distribute.Server(
        tf.train.ClusterSpec(json.loads(cluster)), job_name=job, task_index=int(index), protocol="grpc"
    ).join()


if __name__ == "__main__":
    main()
