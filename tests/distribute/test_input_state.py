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


def test_something_else_than_a_state_is_refused():
    iterator = iter(distributed("global", in_memory, 4))
    with pytest.raises(DataError, match="A state of a distributed iterator"):
        iterator.set_state({"place": 3})
    other = iter(distributed("global", streamed, 4))
    with pytest.raises(DataError, match="another pipeline"):
        iterator.set_state(other.get_state())
