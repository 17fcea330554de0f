"""Distributed input: how batches divide, what is left over, reading ahead, closing, and errors of the source."""

import gc
import threading
import time
import weakref

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import stratax as sx
from stratax import errors
from stratax.distribute import InputContext, InputOptions, MirroredStrategy, OneDeviceStrategy, PerReplica


@pytest.fixture(scope="module")
def four():
    return MirroredStrategy([f"/cpu:{i}" for i in range(4)])


@pytest.fixture(scope="module")
def one():
    return OneDeviceStrategy("/cpu:1")


def components(value):
    return [np.asarray(c).tolist() for c in value.values]


class Slow:
    """An iterable of batches that takes its time, counts what was read and knows whether it was closed."""

    def __init__(self, count, seconds, fail_at=None):
        self.count, self.seconds, self.fail_at = count, seconds, fail_at
        self.read, self.closed = 0, False

    def __iter__(self):
        try:
            for index in range(self.count):
                time.sleep(self.seconds)
                if index == self.fail_at:
                    raise OSError("disk on fire")
                self.read += 1
                yield np.full(4, index, "float32")
        finally:
            self.closed = True


def wait_until(condition, seconds=30.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come true"
        time.sleep(0.001)


@pytest.fixture
def input_threads():
    """The threads that read input since the test began; those of earlier tests may still be ending."""
    before = set(threading.enumerate())

    def found():
        return [
            thread
            for thread in threading.enumerate()
            if thread.name == "stratax-input" and thread not in before
        ]

    return found


# dividing


def test_a_batch_is_divided_in_order_and_put_on_the_devices(four):
    dataset = sx.Dataset.from_tensor_slices({"x": np.arange(16), "y": np.ones((16, 2))}).batch(8)
    distributed = four.experimental_distribute_dataset(dataset)
    elements = list(distributed)
    assert components(elements[1]["x"]) == [[8, 9], [10, 11], [12, 13], [14, 15]]
    assert elements[0]["y"].shape == (2, 2)
    assert [v.devices() for v in elements[0]["x"].values] == [{d} for d in four.devices]
    assert distributed.cardinality() == len(distributed) == 2
    assert distributed.strategy is four
    assert distributed.element_spec == dataset.element_spec
    assert "DistributedDataset" in repr(distributed)
    assert len(list(distributed)) == 2  # every pass begins anew


def test_a_batch_that_does_not_divide_is_kept_whole(four):
    dataset = sx.Dataset.range(10).batch(4)
    *full, rest = four.experimental_distribute_dataset(dataset)
    assert [value.solo for value in full] == [False, False]
    assert rest.solo
    assert components(rest) == [[8, 9]]
    assert rest.array.devices() == set(four.devices)


def test_every_example_comes_exactly_once_whatever_the_sizes():
    for count in (1, 2, 3, 4):
        strategy = MirroredStrategy([f"/cpu:{i}" for i in range(count)])
        for rows in (1, 2, 5, 8, 13):
            for batch in (1, 3, 4, 5):
                steps = strategy.experimental_distribute_dataset(sx.Dataset.range(rows).batch(batch))
                seen = [
                    n
                    for step in steps
                    for c in strategy.experimental_local_results(step)
                    for n in np.ravel(c)
                ]
                assert [int(n) for n in seen] == list(range(rows))


def test_one_device_gets_plain_arrays_on_it(one):
    (first, second) = one.experimental_distribute_dataset(sx.Dataset.range(3).batch(2))
    assert isinstance(first, jax.Array)
    assert first.devices() == {one.devices[0]}
    assert second.tolist() == [2]


def test_any_iterable_of_batches_will_do(four):
    batches = [{"x": np.arange(8.0)}, {"x": jnp.arange(4.0)}, {"x": [np.arange(4)]}][:2]
    elements = list(four.experimental_distribute_dataset(batches))
    assert [e["x"].shape for e in elements] == [(2,), (1,)]
    assert four.experimental_distribute_dataset(iter(batches)).cardinality() < 0
    with pytest.raises(errors.BadTypeError, match="unknown or infinite"):
        len(four.experimental_distribute_dataset(iter(batches)))


def test_a_source_may_use_one_buffer_for_all_its_batches(four):
    def batches():
        buffer = np.zeros(4, "float32")
        for index in range(6):
            buffer[:] = index
            yield buffer

    iterator = iter(four.experimental_distribute_dataset(batches()))
    pair = sx.function(lambda stream: (next(stream), next(stream)))
    seen = [components(value)[0][0] for _ in range(3) for value in pair(iterator)]
    assert seen == [0, 1, 2, 3, 4, 5]


def test_input_may_stay_on_the_host(four):
    options = InputOptions(experimental_fetch_to_device=False)
    (value,) = four.experimental_distribute_dataset([np.arange(8)], options)
    assert isinstance(value.array, np.ndarray)
    doubled = four.run(lambda x: x * 2, args=(value,))
    assert components(doubled) == [[0, 2], [4, 6], [8, 10], [12, 14]]


def test_it_can_be_taken_by_next_and_get_next(four):
    iterator = iter(four.experimental_distribute_dataset(sx.Dataset.range(8).batch(4)))
    assert iterator.element_spec == sx.Dataset.range(8).batch(4).element_spec
    assert components(iterator.get_next()) == [[0], [1], [2], [3]]
    assert components(next(iterator)) == [[4], [5], [6], [7]]
    with pytest.raises(StopIteration):
        next(iterator)


# per-replica batches


def test_a_dataset_function_gives_per_replica_batches(four):
    contexts = []

    def make(context):
        contexts.append(context)
        assert context.get_per_replica_batch_size(8) == 2
        return sx.Dataset.range(22).batch(2)

    distributed = four.distribute_datasets_from_function(make)
    assert contexts == [InputContext(num_input_pipelines=1, input_pipeline_id=0, num_replicas_in_sync=4)]
    steps = list(distributed)
    assert len(distributed) == len(steps) == 3
    assert components(steps[1]) == [[8, 9], [10, 11], [12, 13], [14, 15]]
    assert steps[2].solo  # three batches are left for four replicas: one batch of all their examples
    assert components(steps[2]) == [[16, 17, 18, 19, 20, 21]]


def test_leftovers_of_other_shapes_are_joined(four):
    elements = [np.full((n, 2), i) for i, n in enumerate((3, 3, 3, 3, 3, 2, 1))]
    steps = list(four.experimental_distribute_datasets_from_function(lambda context: elements))
    assert [step.solo for step in steps] == [False, True]
    assert components(steps[1])[0] == [[4, 4]] * 3 + [[5, 5]] * 2 + [[6, 6]]


def test_per_replica_batches_on_one_device_are_its_batches(one):
    steps = list(one.distribute_datasets_from_function(lambda context: sx.Dataset.range(5).batch(2)))
    assert [step.tolist() for step in steps] == [[0, 1], [2, 3], [4]]


# reading ahead


def test_a_slow_source_is_read_ahead_so_that_a_step_finds_its_input_ready(four, input_threads):
    source, gate = Slow(40, 0.004), threading.Event()

    def gated():
        for batch in source:
            if source.read > 8:
                assert gate.wait(30)
            yield batch

    iterator = iter(four.experimental_distribute_dataset(gated()))
    seen = [int(next(iterator).values[0][0]) for _ in range(6)]  # the source turns out to be slow
    assert input_threads()
    assert iterator.input_wait_seconds > 0.01
    wait_until(lambda: source.read > 8)
    seen += [int(next(iterator).values[0][0]) for _ in range(2)]  # while the source gives nothing
    gate.set()
    seen += [int(value.values[0][0]) for value in iterator]
    assert seen == list(range(40))
    iterator.close()
    assert not input_threads()


def test_input_that_is_slower_than_the_steps_shows_as_waiting(four):
    iterator = iter(four.experimental_distribute_dataset(Slow(10, 0.02)))
    started = time.perf_counter()
    assert len(list(iterator)) == 10
    # Only the first batches are waited for with certainty: later ones are read by a thread.
    assert 3 * 0.02 < iterator.input_wait_seconds <= time.perf_counter() - started


def test_at_most_the_buffer_is_read_ahead(four):
    source = Slow(100, 0.002)
    iterator = iter(
        four.experimental_distribute_dataset(source, InputOptions(experimental_per_replica_buffer_size=3))
    )
    for _ in range(5):
        next(iterator)
    time.sleep(0.3)
    assert source.read <= 5 + 3 + 2  # the queue, and one in the thread's hands
    iterator.close()


def test_errors_of_the_source_arrive_after_what_came_before_them(four):
    for fail_at in (1, 8):
        iterator = iter(four.experimental_distribute_dataset(Slow(12, 0.002, fail_at=fail_at)))
        assert [int(next(iterator).values[0][0]) for _ in range(fail_at)] == list(range(fail_at))
        with pytest.raises(OSError, match="disk on fire"):
            next(iterator)
        iterator.close()
    pair = sx.function(lambda stream: (next(stream), next(stream)))
    iterator = iter(four.experimental_distribute_dataset(Slow(4, 0.0, fail_at=1)))
    with pytest.raises(OSError, match="disk on fire"):
        pair(iterator)
    assert int(next(iterator).values[0][0]) == 0  # the element before the error is not lost


def test_close_ends_the_thread_and_the_source(four, input_threads):
    source = Slow(1000, 0.002)
    with iter(four.experimental_distribute_dataset(source)) as iterator:
        for _ in range(6):
            next(iterator)
        assert input_threads()
        assert iterator.steps_ready >= 0
    assert not input_threads()
    assert source.closed
    with pytest.raises(errors.DataError, match=r"after close\(\)"):
        next(iterator)


def test_close_of_a_quick_source_closes_it_too(four):
    source = Slow(10, 0.0)
    iterator = iter(four.experimental_distribute_dataset(source))
    next(iterator)
    iterator.close()
    assert source.closed


def test_close_does_not_wait_for_ever(four, monkeypatch, input_threads):
    monkeypatch.setattr("stratax.data.position._background.JOIN_SECONDS", 0.05)
    release = threading.Event()

    def stuck():
        for _ in range(5):
            time.sleep(0.002)
            yield np.zeros(4)
        release.wait(60)

    iterator = iter(four.experimental_distribute_dataset(stuck()))
    for _ in range(5):
        next(iterator)
    with pytest.warns(RuntimeWarning, match="did not end within"):
        iterator.close()
    release.set()
    for thread in input_threads():
        thread.join(10)
    assert not input_threads()


def test_an_iterator_that_nobody_holds_ends_its_thread(four, input_threads):
    source = Slow(1000, 0.002)
    iterator = iter(four.experimental_distribute_dataset(source))
    for _ in range(6):
        next(iterator)
    (thread,) = input_threads()
    reference = weakref.ref(iterator)
    del iterator
    gc.collect()
    assert reference() is None
    thread.join(10)
    assert not thread.is_alive()


# what is refused


@pytest.mark.parametrize(
    ("dataset", "error", "message"),
    [
        ([np.float32(1)], errors.DataError, r"must be batches.*shapes \(\)"),
        ([(np.zeros(4), np.zeros(3))], errors.DataError, r"one first dimension.*\(4,\), \(3,\).*batch"),
        ([np.zeros((0, 2))], errors.DataError, "at least one example"),
        ([np.zeros(4), {"x": np.zeros(4)}], errors.DataError, "structure of a dataset's elements changed"),
    ],
)
def test_elements_that_are_no_batches_are_refused(four, dataset, error, message):
    def read():
        stream = iter(four.experimental_distribute_dataset(dataset))
        sx.function(lambda s: (next(s), next(s)))(stream)  # several at once, so that they are compared
        list(stream)

    with pytest.raises(error, match=f"(?s){message}"):
        read()


def test_an_empty_batch_is_refused_by_one_device_too(one):
    with pytest.raises(errors.DataError, match="at least one example"):
        list(one.experimental_distribute_dataset([np.zeros((0, 2))]))


def test_batches_of_two_datasets_that_divide_differently_do_not_go_together(four):
    (whole,) = four.experimental_distribute_dataset([np.zeros(8)])
    (rest,) = four.experimental_distribute_dataset([np.zeros(3)])
    with pytest.raises(errors.StructureError, match="Dataset.zip"):
        four.run(lambda a, b: a.sum() + b.sum(), args=(whole, rest))
    assert isinstance(rest, PerReplica)


# shuffling and sharding


@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("order", ["shuffle, shard, batch", "shard, shuffle, batch", "shuffle, batch, shard"])
def test_workers_shards_of_a_shuffled_dataset_are_all_of_it_and_nothing_twice(four, workers, order):
    def pipeline(context):
        dataset = sx.Dataset.range(29)
        steps = {
            "shuffle": lambda d: d.shuffle(29, seed=5),
            "shard": lambda d: d.shard(context.num_input_pipelines, context.input_pipeline_id),
            "batch": lambda d: d.batch(3),
        }
        for name in order.split(", "):
            dataset = steps[name](dataset)
        return dataset

    contexts = [InputContext(num_input_pipelines=workers, input_pipeline_id=i) for i in range(workers)]
    seen = []
    for context in contexts:
        for step in four.experimental_distribute_dataset(pipeline(context)):
            seen += [int(n) for c in four.experimental_local_results(step) for n in np.ravel(c)]
    assert sorted(seen) == list(range(29))
    assert seen != sorted(seen)


@pytest.mark.parametrize("rows", [8, 9])
def test_the_spec_of_a_distributed_dataset_declares_a_functions_argument(four, rows):
    dataset = sx.data.Dataset.from_tensor_slices({"x": np.ones([rows, 3], np.float32)}).batch(4)
    batches = four.experimental_distribute_dataset(dataset)

    @sx.function(input_signature=[batches.element_spec])
    def step(batch):
        return four.run(lambda x: jnp.sum(x), args=(batch["x"],))

    total = sum(float(four.reduce("sum", step(batch), axis=None)) for batch in batches)
    assert total == 3.0 * rows

    @sx.function(input_signature=[sx.data.TensorSpec([None, 2])])
    def other(x):
        return x

    with pytest.raises(errors.BadTypeError, match="does not fit its signature"):
        other(next(iter(batches))["x"])


def test_get_next_says_that_there_is_no_more_as_tensorflow(four):
    iterator = iter(four.experimental_distribute_dataset(sx.data.Dataset.range(4).batch(4)))
    iterator.get_next()
    with pytest.raises(errors.OutOfRangeError, match="no more elements"):
        iterator.get_next()
    with pytest.raises(StopIteration):
        next(iterator)
