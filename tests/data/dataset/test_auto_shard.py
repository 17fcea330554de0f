"""auto_shard: what all workers take together is the data, each element once."""

import itertools
import sys
import warnings

import cloudpickle
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stratax.data import AutoShardPolicy, Dataset, Options, TFRecordDataset, TFRecordWriter, as_dataset
from stratax.data.dataset import auto_shard, is_read_whole, shuffle_seeds
from stratax.data.elements._random import element_generator
from stratax.errors import BadArgumentError, DataError


def with_policy(dataset, policy):
    options = Options()
    options.experimental_distribute.auto_shard_policy = policy
    return dataset.with_options(options)


def parts(dataset, num_workers, policy=AutoShardPolicy.DATA, **kwargs):
    dataset = with_policy(dataset, policy)
    return [list(auto_shard(dataset, num_workers, i, **kwargs)) for i in range(num_workers)]


def elements(batches):
    return sorted(itertools.chain.from_iterable(np.ravel(batch).tolist() for batch in batches))


def in_steps(found):
    """What all workers take in each step."""
    return [elements(part for part in step if part is not None) for step in itertools.zip_longest(*found)]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shards")
    for i in range(5):
        with TFRecordWriter(folder / f"{i}") as writer:
            for j in range(4 + i):
                writer.write(bytes([10 * i + j]))
    return [str(folder / f"{i}") for i in range(5)]


def number(record):
    return np.int64(record[0])


def test_a_step_of_all_workers_is_the_global_batch():
    ds = Dataset.range(22).shuffle(100, seed=4).batch(6)
    assert in_steps(parts(ds, 3)) == [sorted(batch.tolist()) for batch in ds]


@pytest.mark.parametrize(
    "above",
    [
        lambda ds: ds.prefetch(1),
        lambda ds: ds.map(lambda x: x + 1),
        lambda ds: ds.take(3),
        lambda ds: ds.skip(2).repeat(2),
        lambda ds: ds.cache(),
        lambda ds: ds.concatenate(ds.map(lambda x: -x)),
        lambda ds: ds.filter(lambda x: True),
    ],
)
@pytest.mark.parametrize("is_stream", [False, True])
def test_batches_are_reached_through_what_is_done_to_them(above, is_stream):
    plain = Dataset.range(22)
    plain = plain.filter(lambda x: True) if is_stream else plain
    ds = above(plain.map(lambda x: 3 * x).batch(6))
    assert elements(itertools.chain(*parts(ds, 3))) == elements(ds)


def test_what_stands_beside_batches_stays():
    ds = Dataset.range(10).batch(4).enumerate()
    found = parts(ds, 2)
    assert [int(k) for k, _ in found[1]] == [0, 1, 2]
    assert elements(batch for part in found for _, batch in part) == list(range(10))


@pytest.mark.parametrize("is_stream", [False, True])
@pytest.mark.parametrize("length", [22, 23, 24])
def test_a_dropped_remainder_is_that_of_the_global_batches(length, is_stream):
    ds = Dataset.range(length)
    ds = (ds.filter(lambda x: True) if is_stream else ds).batch(4, drop_remainder=True)
    found = parts(ds, 2)
    assert in_steps(found) == [batch.tolist() for batch in ds]
    assert {batch.shape for part in found for batch in part} == {(2,)}


def test_padded_batches_are_divided():
    ds = Dataset.range(1, 7).map(lambda n: np.full([int(n)], int(n))).padded_batch(4)
    found = parts(ds, 2)
    assert [[batch.max(axis=1).tolist() for batch in part] for part in found] == [
        [[1, 3], [5]],
        [[2, 4], [6]],
    ]


def test_whole_batches_go_round_where_they_are_not_to_be_divided():
    ds = Dataset.range(10).batch(2)
    found = parts(ds, 2, split_batches=False)
    assert [[batch.tolist() for batch in part] for part in found] == [
        [[0, 1], [4, 5], [8, 9]],
        [[2, 3], [6, 7]],
    ]


def drawn(x):
    return x + element_generator().integers(1000)


def test_random_functions_draw_for_a_shard_what_they_draw_for_the_whole():
    for source in (Dataset.range(12), Dataset.range(12).filter(lambda x: True)):
        ds = source.map(drawn).batch(6)
        seeds = shuffle_seeds(ds)
        assert elements(itertools.chain(*parts(ds, 3, seeds=seeds))) == elements(ds)


@pytest.mark.processes
def test_functions_in_worker_processes_draw_for_a_shard_what_they_draw_for_the_whole():
    # A worker can't import what pytest has imported.
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    ds = Dataset.range(12).filter(lambda x: True).map(drawn, num_processes=1).batch(6)
    seeds = shuffle_seeds(ds)
    assert elements(itertools.chain(*parts(ds, 2, seeds=seeds))) == elements(ds)


def test_workers_that_read_different_files_draw_different_numbers(files):
    def noise(file):
        return TFRecordDataset(file).map(lambda record: element_generator().integers(1 << 40))

    ds = Dataset.from_tensor_slices(files).interleave(noise, cycle_length=2)
    seeds = shuffle_seeds(ds)
    found = elements(itertools.chain(*parts(ds, 2, AutoShardPolicy.FILE, seeds=seeds)))
    assert len(set(found)) == len(found)
    assert found == elements(ds)


def test_elements_of_other_workers_are_not_made():
    calls = []

    def counted(x):
        calls.append(int(x))
        return x

    ds = with_policy(
        Dataset.range(12).filter(lambda x: True).map(counted, 2).batch(4).prefetch(2), AutoShardPolicy.DATA
    )
    list(auto_shard(ds, 2, 1))
    assert set(calls) == {1, 3, 5, 7, 9, 11}


def test_workers_that_agree_on_seeds_share_the_data():
    datasets = [with_policy(Dataset.range(20).shuffle(20).batch(4), AutoShardPolicy.DATA) for _ in range(2)]
    seeds = shuffle_seeds(datasets[0])
    workers = [auto_shard(ds, 2, i, seeds=seeds) for i, ds in enumerate(datasets)]
    epochs = [elements(itertools.chain(*(list(worker) for worker in workers))) for _ in range(3)]
    assert epochs == [list(range(20))] * 3


def test_files_are_divided(files):
    ds = TFRecordDataset(files).map(number).batch(2)
    found = parts(ds, 2, AutoShardPolicy.FILE)
    assert elements(itertools.chain(*found)) == elements(ds)
    assert {x // 10 for x in elements(found[0])} == {0, 2, 4}
    assert max(len(batch) for part in found for batch in part) == 1


def test_files_behind_interleave_are_divided(files):
    ds = (
        Dataset.from_tensor_slices(files)
        .shuffle(9, seed=1)
        .interleave(TFRecordDataset, cycle_length=2)
        .map(number)
    )
    found = parts(ds, 2, AutoShardPolicy.FILE)
    assert elements(itertools.chain(*found)) == elements(ds)
    assert not {x // 10 for x in elements(found[0])} & {x // 10 for x in elements(found[1])}
    shuffled = (
        Dataset.list_files([file + "*" for file in files], seed=2).flat_map(TFRecordDataset).map(number)
    )
    assert elements(itertools.chain(*parts(shuffled, 3, AutoShardPolicy.FILE))) == elements(ds)


def test_what_is_concatenated_to_files_is_divided_too(files):
    ds = TFRecordDataset(files).map(number).concatenate(Dataset.range(100, 107))
    assert elements(itertools.chain(*parts(ds, 2, AutoShardPolicy.FILE))) == elements(ds)


def test_auto_tells_once_what_it_chose(files):
    ds = TFRecordDataset(files).map(number).batch(12)
    with pytest.warns(UserWarning, match="AUTO chose FILE: 5 files for 2 workers"):
        found = parts(ds, 2, AutoShardPolicy.AUTO)
    assert {x // 10 for x in elements(found[1])} == {1, 3}
    with pytest.warns(UserWarning, match="AUTO chose DATA: 5 files for 6 workers. Every worker reads all"):
        found = parts(ds, 6, None)
    assert in_steps(found) == [sorted(batch.tolist()) for batch in ds]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parts(ds, 2, AutoShardPolicy.AUTO)
        parts(Dataset.range(4), 2, AutoShardPolicy.AUTO)


def test_auto_takes_elements_where_some_of_the_files_would_mean_something_else(files):
    records = TFRecordDataset(files).map(number)
    ds = Dataset.zip(records, Dataset.range(100)).take(9)
    with pytest.warns(UserWarning, match="AUTO chose DATA: Take needs the elements of all files"):
        found = parts(ds, 2, AutoShardPolicy.AUTO)
    assert sorted(itertools.chain(*found)) == sorted(ds)
    pairs = Dataset.zip(records, Dataset.range(100).map(lambda x: x))
    with pytest.raises(DataError, match="can't divide a zip of files with something else"):
        parts(pairs, 2, AutoShardPolicy.FILE)


@pytest.mark.filterwarnings("ignore:The auto_shard_policy AUTO")
@pytest.mark.parametrize("num_files", [1, 2, 3, 7])
@pytest.mark.parametrize("num_workers", [1, 2, 3, 4])
@pytest.mark.parametrize("policy", [AutoShardPolicy.AUTO, AutoShardPolicy.DATA])
def test_every_record_of_any_number_of_files_is_one_workers(num_files, num_workers, policy, tmp_path):
    for i in range(num_files):
        with TFRecordWriter(tmp_path / f"{i}") as writer:
            for j in range(5 + i):
                writer.write(bytes([20 * i + j]))
    ds = TFRecordDataset([str(tmp_path / f"{i}") for i in range(num_files)]).map(number).batch(12)
    found = elements(itertools.chain(*parts(ds, num_workers, policy)))
    assert found == [20 * i + j for i in range(num_files) for j in range(5 + i)]


def test_batches_that_can_not_be_divided_are_read_whole(files):
    batches = Dataset.range(22).batch(6)
    foreign = as_dataset(Loader())
    records = TFRecordDataset(files)
    assert is_read_whole(batches, 2)
    assert is_read_whole(foreign, 2)
    assert is_read_whole(with_policy(foreign.map(lambda x: x + 1).prefetch(1), AutoShardPolicy.DATA), 2)
    assert not is_read_whole(with_policy(foreign, AutoShardPolicy.OFF), 2)
    assert not is_read_whole(foreign.unbatch().batch(6), 2)
    assert not is_read_whole(batches.map(lambda x: x + 1), 2)
    assert not is_read_whole(records, 2)
    assert is_read_whole(with_policy(records, AutoShardPolicy.DATA), 2)


class Loader:
    """Batches of another library."""

    def __iter__(self):
        return iter([np.arange(4), np.arange(4, 8)])


def test_off_and_hint_leave_everything_to_every_worker(files):
    ds = TFRecordDataset(files).map(number).batch(4)
    for policy in (AutoShardPolicy.OFF, AutoShardPolicy.HINT):
        for part in parts(ds, 2, policy):
            assert elements(part) == elements(ds)
            assert len(part[0]) == 2


def test_wrong_use_raises(files):
    ds = Dataset.range(8)
    with pytest.raises(DataError, match="at least one file for each worker. Received: 0 files"):
        parts(ds, 2, AutoShardPolicy.FILE)
    with pytest.raises(DataError, match="Received: 5 files for num_workers=6"):
        parts(TFRecordDataset(files), 6, AutoShardPolicy.FILE)
    with pytest.raises(DataError, match="has to divide by the number of workers.*batch_size=3"):
        parts(ds.batch(3), 2)
    with pytest.raises(BadArgumentError, match="index counts the workers from 0"):
        auto_shard(ds, 2, 2)


STEPS = {
    "shuffle": lambda ds, n: ds.shuffle(n + 1, seed=n),
    "repeat": lambda ds, n: ds.repeat(1 + n % 3),
    "filter": lambda ds, n: ds.filter(lambda x: x % (n + 2) != 0),
    "map": lambda ds, n: ds.map(lambda x: x + 1000 * n),
    "take": lambda ds, n: ds.take(3 * n),
    "skip": lambda ds, n: ds.skip(n),
    "shard": lambda ds, n: ds.shard(2, n % 2),
    "prefetch": lambda ds, n: ds.prefetch(n),
    "cache": lambda ds, n: ds.cache(),
    "concatenate": lambda ds, n: ds.concatenate(Dataset.range(50, 50 + n)),
}


def test_batches_of_which_one_is_too_short_for_all_workers_are_taken_in_turn():
    found = parts(Dataset.range(3).batch(2).repeat(3).take(5), 2)
    assert elements(itertools.chain(*found)) == sorted([0, 1, 2] * 2 + [0, 1])
    found = parts(Dataset.range(6).batch(4).repeat(2), 2)
    assert in_steps(found) == [[0, 1, 2, 3], [4, 5]] * 2


@given(
    length=st.integers(0, 30),
    steps=st.lists(st.tuples(st.sampled_from(sorted(STEPS)), st.integers(0, 7)), max_size=5),
    share=st.integers(1, 3),
    above=st.lists(
        st.tuples(st.sampled_from(["repeat", "prefetch", "map", "take"]), st.integers(0, 3)), max_size=2
    ),
    num_workers=st.integers(1, 4),
    is_batched=st.booleans(),
)
@settings(max_examples=80, deadline=None)
def test_any_plan_is_divided_exactly(length, steps, share, above, num_workers, is_batched):
    def plan():
        ds = Dataset.range(length)
        for name, n in steps:
            ds = STEPS[name](ds, n)
        ds = ds.batch(share * num_workers) if is_batched else ds
        for name, n in above:
            ds = STEPS[name](ds, n)
        return ds

    whole = [elements([batch]) for batch in plan()]
    found = parts(plan(), num_workers)
    assert elements(itertools.chain(*found)) == sorted(itertools.chain(*whole))
    takes_whole_batches = any(name in ("repeat", "take") for name, _ in above)
    if is_batched and not takes_whole_batches:
        assert [step for step in in_steps(found) if step] == whole
