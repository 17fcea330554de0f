"""Epoch after epoch, nothing accumulates: no arrays, no programs, no threads, no memory."""

import gc
import threading

import jax
import keras
import numpy as np
import psutil
import pytest

import stratax as sx
from stratax.distribute import MirroredStrategy


@pytest.mark.stress
def test_two_hundred_short_epochs_leave_memory_flat():
    strategy = MirroredStrategy(["/cpu:0", "/cpu:1"])
    with strategy.scope():
        model = keras.Sequential([keras.layers.Dense(4)])
        optimizer = keras.optimizers.Adam()
        metric = keras.metrics.Mean()

    def replica_step(x):
        loss = lambda: sx.distribute.compute_average_loss(model(x)[:, 0] ** 2)  # noqa: E731
        value, gradients = sx.value_and_grad(loss, lambda: model.trainable_variables)()
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        metric.update_state(value)
        return value

    @sx.function
    def step(iterator):
        return strategy.run(replica_step, args=(next(iterator),))

    x = np.ones((11, 64), "float32")  # the last batch of 3 does not divide
    dataset = strategy.experimental_distribute_dataset(sx.Dataset.from_tensor_slices(x).shuffle(11).batch(4))

    def epoch():
        iterator = iter(dataset)
        losses = []
        while True:
            try:
                losses.append(strategy.reduce("sum", step(iterator), axis=None))
            except StopIteration:
                break
        assert np.isfinite(float(metric.result()))
        metric.reset_state()
        return float(losses[-1])

    process = psutil.Process()

    def measure(epochs):
        for _ in range(epochs):
            epoch()
        gc.collect()
        for thread in threading.enumerate():
            if thread.name == "stratax-input":  # The last epoch's, which may not have ended yet.
                thread.join(10)
        return process.memory_info().rss, len(jax.live_arrays()), threading.active_count()

    measure(20)
    memory, arrays, threads = measure(20)
    later = measure(160)
    assert later[1] <= arrays
    assert later[2] <= threads
    assert later[0] - memory < 16 * 2**20
    assert step.num_programs == 2
