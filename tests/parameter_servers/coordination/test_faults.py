"""Workers die, stand still, come and go: training goes on, and every step changes variables once."""

import collections
import contextlib
import os
import signal
import socket
import threading
import time

import jax.numpy as jnp
import keras
import numpy as np
import psutil
import pytest

import stratax as sx
from stratax import errors
from tests.parameter_servers.coordination.clusters import coordinator_of, processes

pytestmark = pytest.mark.processes


def counted(coordinator):
    """Variables that count steps, and a step that takes long enough to be killed in."""
    with coordinator.strategy.scope():
        count = sx.Variable(0, aggregation="sum", name="count")
        weight = sx.Variable([0.0, 0.0], name="weight")
        optimizer = keras.optimizers.SGD(1.0)

    @sx.function
    def step():
        def replica():
            optimizer.apply_gradients([(-jnp.ones(2), weight)])
            count.assign_add(1)
            noise = jnp.ones((400, 400))
            for _ in range(20):
                noise = jnp.tanh(noise @ noise)
            return noise.sum()

        return coordinator.strategy.run(replica)

    return count, weight, optimizer, step


def check(counters, steps):
    count, weight, optimizer, _ = counters
    assert int(count.numpy()) == int(optimizer.iterations.numpy()) == steps
    assert weight.numpy().tolist() == [steps, steps]


def killing(tasks, stop, num_kills):
    """Kill workers at random moments, each of which is started again, until it is time to stop or enough were."""
    random = np.random.default_rng(0)
    for number in range(20):
        if stop.wait(random.uniform(0.05, 1.0)):
            return
        tasks.signal("worker", number % 2)
        tasks.start("worker", number % 2, wait=False)
        num_kills[0] += 1


@contextlib.contextmanager
def kills(tasks):
    """Kill workers 20 times while a block runs, and give how often it was done."""
    stop, num_kills = threading.Event(), [0]
    thread = threading.Thread(target=killing, args=(tasks, stop, num_kills))
    thread.start()
    try:
        yield num_kills
    finally:
        stop.set()
        thread.join(60)


@pytest.mark.stress
def test_workers_that_are_killed_lose_no_step_and_repeat_none():
    with processes(servers=2, workers=2) as tasks, coordinator_of(tasks.cluster) as coordinator:
        counters = counted(coordinator)
        coordinator.schedule(counters[3])
        coordinator.join()
        done = 1
        with kills(tasks) as num_kills:
            while num_kills[0] < 20:
                for _ in range(30):
                    coordinator.schedule(counters[3])
                done += 30
                coordinator.join()
        check(counters, done)


@pytest.mark.stress
def test_fit_goes_on_while_workers_are_killed_and_uses_each_batch_once():
    with processes(servers=2, workers=2) as tasks, coordinator_of(tasks.cluster) as coordinator:
        with coordinator.strategy.scope():
            model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1, use_bias=False)])
            # The gradient of each step is the sum of its batch, whatever the weights are.
            model.compile(keras.optimizers.SGD(1.0), lambda y_true, y_pred: -y_pred)
        start = model.layers[0].kernel.numpy()
        batches = np.random.default_rng(0).integers(0, 8, (2000, 1, 4)).astype("float32")
        dataset = sx.data.Dataset.from_tensor_slices((batches, np.zeros((2000, 1, 1), "float32")))
        done = 0
        with kills(tasks) as num_kills:
            while num_kills[0] < 20:
                model.fit(dataset, verbose=0)
                done += 1
        assert int(model.optimizer.iterations.numpy()) == 2000 * done
        expected = start + done * batches.sum((0, 1))[:, None]
        np.testing.assert_allclose(model.layers[0].kernel.numpy(), expected, rtol=1e-5)


def flooding(address, stop, count):
    """Open connections as fast as can be: some with garbage, some with half a handshake, some that say nothing."""
    host, _, port = address.rpartition(":")
    opened = collections.deque()
    while not stop.is_set():
        with contextlib.suppress(OSError):
            stranger = socket.create_connection((host, int(port)), timeout=5)
            kind = count[0] % 3
            if kind:
                stranger.sendall([b"\x16\x03\x01\x02\x00\x01", os.urandom(2000)][kind - 1])
            opened.append(stranger)
            count[0] += 1
            if len(opened) > 200:
                opened.popleft().close()
        # Some hundred a second at each port: the two cores are not to be busy with this alone.
        stop.wait(0.005)
    for stranger in opened:
        stranger.close()


@pytest.mark.stress
def test_a_flood_at_every_port_slows_a_job_down_a_little_and_changes_nothing():
    with processes(servers=2, workers=2) as tasks, coordinator_of(tasks.cluster) as coordinator:
        counters = counted(coordinator)
        resident = {}

        def timed(steps=200):
            started = time.monotonic()
            for _ in range(steps):
                coordinator.schedule(counters[3])
            coordinator.join()
            return time.monotonic() - started

        timed()
        alone = timed()
        for name, process in tasks.running():
            resident[name] = psutil.Process(process).memory_info().rss
        stop, count = threading.Event(), [0]
        floods = [
            threading.Thread(target=flooding, args=(address, stop, count))
            for job in ("ps", "worker")
            for address in tasks.cluster[job]
        ]
        for flood in floods:
            flood.start()
        flooded = [timed() for _ in range(3)]
        stop.set()
        for flood in floods:
            flood.join(30)
        print(f"alone {alone:.2f} s, flooded {flooded} s by {count[0]} connections")
        assert count[0] > 500
        check(counters, 1000)
        assert min(flooded) < 2.5 * alone
        for name, process in tasks.running():
            grown = psutil.Process(process).memory_info().rss - resident[name]
            print(name, f"{grown / 1e6:.1f} MB")
            assert grown < 100e6
        timed()
        check(counters, 1200)


@pytest.mark.stress
def test_a_worker_that_stands_still_is_given_up_and_what_it_pushes_late_counts_once():
    with processes(servers=1, workers=2) as tasks, coordinator_of(tasks.cluster) as coordinator:
        counters = counted(coordinator)
        for _ in range(10):
            coordinator.schedule(counters[3])
        coordinator.join()
        for _ in range(30):
            coordinator.schedule(counters[3])
        tasks.signal("worker", 0, signal.SIGSTOP)
        coordinator.join()
        tasks.signal("worker", 0, signal.SIGCONT)
        time.sleep(1.0)
        check(counters, 40)
        for _ in range(10):
            coordinator.schedule(counters[3])
        coordinator.join()
        check(counters, 50)


@pytest.mark.stress
def test_a_worker_that_comes_late_takes_part_and_one_that_leaves_is_not_missed():
    with processes(servers=1, workers=1) as tasks:
        port = tasks.cluster["worker"][0].rpartition(":")[2]
        assert port
        with coordinator_of(tasks.cluster) as coordinator:
            counters = counted(coordinator)
            assert tasks.signal("worker", 0, signal.SIGTERM) == 0
            coordinator.schedule(counters[3])
            time.sleep(0.5)
            assert not coordinator.done()
            tasks.start("worker", 0)
            coordinator.join()
            check(counters, 1)


@pytest.mark.programs
def test_a_server_that_is_killed_is_named():
    with processes(servers=1, workers=1) as tasks, coordinator_of(tasks.cluster) as coordinator:
        counters = counted(coordinator)
        coordinator.schedule(counters[3])
        coordinator.join()
        tasks.signal("ps", 0)
        tasks.start("ps", 0)
        coordinator.schedule(counters[3])
        with pytest.raises(errors.PeerLostError, match="/job:ps/task:0 was started anew"):
            coordinator.join()
