"""Workers die, stand still, come and go: training goes on, and every step changes variables once."""

import signal
import time

import jax.numpy as jnp
import keras
import pytest

import stratax as sx
from stratax import errors
from tests.distribute.coordination.clusters import coordinator_of, processes

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


@pytest.mark.stress
def test_workers_that_are_killed_lose_no_step_and_repeat_none():
    with processes(servers=2, workers=2) as tasks, coordinator_of(tasks.cluster) as coordinator:
        counters = counted(coordinator)
        done = 0
        for number in range(3):
            for _ in range(30):
                coordinator.schedule(counters[3])
            done += 30
            time.sleep(0.2)
            tasks.signal("worker", number % 2)
            tasks.start("worker", number % 2, wait=False)
        coordinator.join()
        check(counters, done)


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
