"""Large results of worker processes come by way of shared memory without a name."""

import os

import numpy as np
import pytest

from stratax.data import Dataset
from stratax.data.workers import _memory
from stratax.data.workers._memory import SMALLEST_BYTES, Location, Stored, WorkerMemory, Writer


def test_what_is_stored_is_fetched_as_a_copy():
    memory = WorkerMemory(1 << 20, number=-1)
    writer = Writer(memory.location)
    arrays = [np.arange(10_000), np.ones([3, 3]), np.full([2, 20_000], 7, np.uint8)]
    stored = [writer.stack(array) for array in arrays]
    assert [type(leaf) for leaf in stored] == [Stored, type(None), Stored]
    fetched = memory.fetch([stored[0], arrays[1], stored[2]])
    for array, copy in zip(arrays, fetched, strict=True):
        np.testing.assert_array_equal(copy, array)
        assert copy.dtype == array.dtype
    Writer(memory.location).stack(np.zeros([1, 10_000], np.int64))
    assert fetched[0][1] == 1
    memory.close()


def test_what_has_no_room_or_holds_objects_stays_itself():
    memory = WorkerMemory(SMALLEST_BYTES + 100, number=-2)
    writer = Writer(memory.location)
    objects = np.array([b"a"] * SMALLEST_BYTES, object)
    assert writer.stack([objects]) is None
    assert isinstance(writer.stack([np.zeros(SMALLEST_BYTES, np.uint8)]), Stored)
    assert writer.stack([np.zeros(SMALLEST_BYTES, np.uint8)]) is None
    memory.close()


def test_memory_that_can_not_be_opened_is_done_without():
    array = np.zeros(SMALLEST_BYTES)
    assert Writer(Location("/proc/0/fd/0", 1 << 20, -3)).stack([array]) is None
    assert Writer(None).stack([array]) is None


def test_memory_has_no_name_and_is_closed_with_its_object():
    def count():
        files = [os.readlink(file.path) for file in os.scandir("/proc/self/fd") if os.path.lexists(file.path)]
        return files.count("/memfd:stratax (deleted)")

    before = count()
    memory = WorkerMemory(1 << 20, number=-4)
    # Deleted before it is used: whatever happens to the process, nobody has to unlink it.
    assert count() > before
    del memory
    assert count() == before


@pytest.mark.processes
@pytest.mark.parametrize("can_share", [True, False])
@pytest.mark.parametrize("is_indexable", [True, False])
def test_large_elements_are_the_same_with_and_without(can_share, is_indexable, monkeypatch):
    made = []

    class Counted(WorkerMemory):
        def __init__(self, size, number):
            made.append(size)
            super().__init__(size, number)

    monkeypatch.setattr("stratax.data.workers._pool.WorkerMemory", Counted)
    monkeypatch.setattr("stratax.data.workers._pool.can_share", lambda: can_share)

    def function(i):
        return {"large": np.full([100, 100 + int(i) % 2], i, np.float32), "small": i, "text": b"x" * 20_000}

    dataset = Dataset.range(300)
    if not is_indexable:
        dataset = dataset.filter(lambda i: True)
    for i, element in enumerate(dataset.map(function, num_processes=2)):
        assert element["large"].shape == (100, 100 + i % 2)
        assert np.all(element["large"] == i)
        element["large"][:] = -1
        assert (element["small"], element["text"]) == (i, b"x" * 20_000)
    assert bool(made) == can_share
    assert _memory.can_share()
