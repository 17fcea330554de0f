"""Results that are not there yet: fetched, given on, and waited for."""

import threading

import jax.numpy as jnp
import pytest

import stratax as sx
from tests.parameter_servers.coordination.clusters import in_process


@pytest.fixture(scope="module")
def coordinator():
    with in_process(servers=1, workers=2) as coordinator:
        yield coordinator


def test_results_are_fetched_alone_and_in_structures(coordinator):
    first = coordinator.schedule(lambda x: x + 1, args=(jnp.float32(1.0),))
    second = coordinator.schedule(
        sx.function(lambda x, y=0: {"sum": x + y, "name": "b"}), args=(2,), kwargs={"y": 3}
    )
    assert first.fetch() == 2.0
    assert coordinator.fetch({"a": first, "b": [second], "c": 7}) == {
        "a": 2.0,
        "b": [{"sum": 5, "name": "b"}],
        "c": 7,
    }
    coordinator.join()
    assert coordinator.done()


def test_a_result_is_an_argument_of_another_function(coordinator):
    first = coordinator.schedule(lambda: jnp.arange(3))
    assert coordinator.schedule(lambda x: x * 2, args=(first,)).fetch().tolist() == [0, 2, 4]


GOING = threading.Event()


def waiting():
    """A dataset that a worker of this process waits for."""
    assert GOING.wait(20)
    return sx.data.Dataset.range(5, 9)


def test_what_needs_a_result_lets_others_go_first(coordinator):
    iterator = iter(coordinator.create_per_worker_dataset(waiting))
    first = coordinator.schedule(lambda it: next(it) + 0, args=(iterator,))
    behind = [coordinator.schedule(lambda x: x + 1, args=(first,)) for _ in range(3)]
    # One of two workers waits for the dataset; the other is not kept from this.
    assert float(coordinator.schedule(lambda: jnp.float32(7)).fetch()) == 7.0
    assert not any(each.is_ready for each in behind)
    GOING.set()
    assert [int(each.fetch()) for each in behind] == [6] * 3
