"""Two threads that trace programs at the same time do not disturb each other."""

import threading

import keras
import numpy as np

import stratax as sx
from stratax.distribute import MirroredStrategy, keras_hooks


def test_a_thread_that_applies_gradients_leaves_another_threads_gradients_to_be_summed():
    strategy = MirroredStrategy(["/cpu:0", "/cpu:1"])
    with strategy.scope():
        v = sx.Variable(0.0)
        optimizer = keras.optimizers.SGD(1.0)
        optimizer.build([v])
    entered, leave = threading.Event(), threading.Event()

    def busy():
        with keras_hooks.applying(optimizer):
            entered.set()
            leave.wait(60)

    thread = threading.Thread(target=busy)
    thread.start()
    entered.wait(60)
    try:
        ids = strategy.experimental_distribute_values_from_function(
            lambda context: np.float32(1 + context.replica_id_in_sync_group)
        )
        strategy.run(lambda gradient: optimizer.apply_gradients([(gradient, v)]), args=(ids,))
    finally:
        leave.set()
        thread.join()
    assert float(v.value) == -3
