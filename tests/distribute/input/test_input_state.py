"""The position of distributed input is saved, and input goes on behind it with the very next element."""

import json
from collections.abc import Callable

import numpy as np
import pytest

import stratax as sx
from stratax.data import Dataset
from stratax.errors import DataError

ROWS = np.arange(101, dtype=np.float32)


def in_memory() -> Dataset:
    return Dataset.from_tensor_slices(ROWS).shuffle(101, seed=3).batch(8)


def streamed() -> Dataset:
    return Dataset.from_tensor_slices(ROWS).filter(lambda x: x % 7 != 0).shuffle(20, seed=5).batch(8)


def read_ahead() -> Dataset:
    return streamed().prefetch(2)


def repeated() -> Dataset:
    return in_memory().repeat(2)


def elements(iterator: sx.distribute.DistributedIterator) -> list[list[list[float]]]:
    strategy_values = []
    for element in iterator:
        values = element.values if isinstance(element, sx.distribute.PerReplica) else (element,)
        strategy_values.append([np.asarray(value).tolist() for value in values])
    return strategy_values


def distributed(kind: str, make: Callable[[], Dataset], devices: int) -> sx.distribute.DistributedDataset:
    strategy = sx.distribute.MirroredStrategy([f"/cpu:{i}" for i in range(devices)])
    if kind == "global":
        return strategy.experimental_distribute_dataset(make())
    return strategy.distribute_datasets_from_function(lambda context: make())


@pytest.mark.parametrize("make", [in_memory, streamed, read_ahead, repeated])
@pytest.mark.parametrize(("kind", "devices"), [("global", 1), ("global", 4), ("replica", 1), ("replica", 3)])
def test_a_restored_iterator_goes_on_with_the_very_next_element(kind, devices, make):
    everything = elements(iter(distributed(kind, make, devices)))
    for taken in range(len(everything) + 1):
        iterator = iter(distributed(kind, make, devices))
        for _ in range(taken):
            next(iterator)
        state = json.loads(json.dumps(iterator.get_state()))
        restored = iter(distributed(kind, make, devices))
        restored.set_state(state)
        assert elements(restored) == everything[taken:], taken
        assert elements(iterator) == everything[taken:], taken


def test_steps_that_were_read_and_not_taken_are_not_lost():
    everything = elements(iter(distributed("global", streamed, 4)))
    iterator = iter(distributed("global", streamed, 4))
    next(iterator)
    iterator.peek_runs(0, 5)
    restored = iter(distributed("global", streamed, 4))
    restored.set_state(iterator.get_state())
    assert elements(restored) == everything[1:]


def test_blocks_that_a_compiled_loop_took_are_behind_the_position():
    everything = elements(iter(distributed("global", in_memory, 4)))
    dataset = distributed("global", in_memory, 4)

    @sx.function
    def steps(iterator):
        total = 0.0
        for _ in sx.range(5):
            total += dataset.strategy.reduce(
                "sum", dataset.strategy.run(lambda x: x.sum(), args=(next(iterator),)), axis=None
            )
        return total

    iterator = iter(dataset)
    steps(iterator)
    restored = iter(distributed("global", in_memory, 4))
    restored.set_state(iterator.get_state())
    assert elements(restored) == everything[5:]


def of_several_shapes() -> Dataset:
    """Batches that come in runs of one size, so that elements are held back for the next step."""
    parts = [ROWS[k * 20 : (k + 1) * 20] for k in range(5)]
    runs = [Dataset.from_tensor_slices(part).batch(2 + k % 3).take(4 + k % 2) for k, part in enumerate(parts)]
    return runs[0].concatenate(runs[1]).concatenate(runs[2]).concatenate(runs[3]).concatenate(runs[4])


@pytest.mark.parametrize("first", range(4))
@pytest.mark.parametrize("second", range(4))
def test_what_was_restored_is_saved_again(first, second):
    everything = elements(iter(distributed("replica", of_several_shapes, 3)))
    states = [iter(distributed("replica", of_several_shapes, 3)).get_state()]
    for taken in (first, second):
        iterator = iter(distributed("replica", of_several_shapes, 3))
        iterator.set_state(states[-1])
        for _ in range(taken):
            next(iterator)
        states.append(iterator.get_state())
    restored = iter(distributed("replica", of_several_shapes, 3))
    restored.set_state(states[-1])
    assert elements(restored) == everything[first + second :]


@pytest.mark.parametrize(("before", "after"), [(4, 2), (2, 4), (3, 4), (1, 3), (3, 1)])
@pytest.mark.parametrize("taken", [0, 1, 2])
def test_batches_of_replicas_go_on_with_another_number_of_replicas(before, after, taken):
    iterator = iter(distributed("replica", streamed, before))
    seen = [row for _ in range(taken) for row in rows_of(next(iterator))]
    restored = iter(distributed("replica", streamed, after))
    restored.set_state(iterator.get_state())
    rest = [row for element in restored for row in rows_of(element)]
    whole = [row for element in iter(distributed("replica", streamed, 1)) for row in rows_of(element)]
    assert seen + rest == whole


def rows_of(element: object) -> list[float]:
    values = element.values if isinstance(element, sx.distribute.PerReplica) else (element,)
    return [float(row) for value in values for row in np.ravel(value)]


def test_a_used_iterator_goes_back():
    iterator = iter(distributed("replica", in_memory, 3))
    start = iterator.get_state()
    first = elements(iterator)
    iterator.set_state(start)
    assert elements(iterator) == first


def test_a_generator_says_that_its_position_can_not_be_saved():
    def numbers():
        for i in range(8):
            yield np.full(4, i, np.float32)

    strategy = sx.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
    iterator = iter(strategy.experimental_distribute_dataset([np.zeros(4, np.float32)] * 3))
    next(iterator)
    with pytest.raises(DataError, match="position of this input can't be saved"):
        iterator.get_state()
    dataset = Dataset.from_generator(numbers, output_signature=sx.data.TensorSpec((4,), np.float32))
    iterator = iter(strategy.experimental_distribute_dataset(dataset))
    next(iterator)
    with pytest.raises(DataError, match="reads a Python generator"):
        iterator.get_state()


GOOD = {"version": 1, "readers": 1, "elements": 1, "place": {}, "steps": 0}


@pytest.mark.parametrize(
    "state",
    [
        None,
        {},
        {"place": 3},
        GOOD | {"steps": "x"},
        GOOD | {"steps": -1},
        GOOD | {"elements": True},
        GOOD | {"version": 9},
    ],
)
def test_something_else_than_a_state_is_refused(state):
    iterator = iter(distributed("global", in_memory, 4))
    with pytest.raises(DataError, match="A state of a distributed iterator"):
        iterator.set_state(state)


def test_a_state_of_another_pipeline_is_refused_and_leaves_the_iterator_where_it_is():
    everything = elements(iter(distributed("global", in_memory, 4)))
    iterator = iter(distributed("global", in_memory, 4))
    next(iterator)
    state = iter(distributed("global", streamed, 4)).get_state()
    with pytest.raises(DataError, match="another pipeline"):
        iterator.set_state(state)
    assert elements(iterator) == everything[1:]


@pytest.mark.parametrize("devices", [1, 3])
def test_a_state_of_input_that_is_distributed_in_another_way_is_refused(devices):
    whole, parts = (iter(distributed(kind, in_memory, devices)) for kind in ("global", "replica"))
    with pytest.raises(DataError, match="distributed in another way"):
        parts.set_state(whole.get_state())
    with pytest.raises(DataError, match="state of a Dataset iterator"):
        whole.set_state(parts.get_state())
