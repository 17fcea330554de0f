"""Elements of several Datasets, drawn or chosen by numbers."""

import numpy as np
import pytest

from stratax.data import AutoShardPolicy, Dataset, Options, TextLineDataset
from stratax.data.dataset import auto_shard
from stratax.errors import BadArgumentError, BadTypeError, DataError
from tests.data.pipelines import stream


def endless(value):
    return Dataset.from_tensors(np.int64(value)).repeat()


def test_datasets_are_drawn_as_often_as_their_weights_say():
    ds = Dataset.sample_from_datasets([endless(i) for i in range(3)], [1.0, 0.0, 3.0], seed=3)
    counts = np.bincount([int(x) for x in ds.take(4000)], minlength=3)
    assert counts[1] == 0
    assert abs(counts[0] / 4000 - 0.25) < 0.03


def test_weights_of_each_draw_may_come_from_a_dataset():
    weights = Dataset.from_tensor_slices(np.eye(3, dtype=np.float32)[[2, 0, 1, 1]])
    ds = Dataset.sample_from_datasets([endless(i) for i in range(3)], weights)
    assert [int(x) for x in ds] == [2, 0, 1, 1]


@pytest.mark.parametrize("is_new", [False, True])
def test_iterations_draw_the_same_unless_each_is_to_differ(is_new):
    members = [endless(i).take(30) for i in range(2)]
    ds = Dataset.sample_from_datasets(members, seed=5, rerandomize_each_iteration=is_new)
    first, second = ([int(x) for x in ds] for _ in range(2))
    assert (first != second) == is_new


@pytest.mark.parametrize("stops", [True, False])
def test_the_end_of_a_dataset_ends_all_or_is_passed_over(stops):
    ds = Dataset.choose_from_datasets([Dataset.range(2), stream(5)], Dataset.range(2).repeat(5), stops)
    assert [int(x) for x in ds] == ([0, 0, 1, 1] if stops else [0, 0, 1, 1, 2, 3, 4])


@pytest.mark.parametrize(
    ("arguments", "error", "match"),
    [
        (([],), BadArgumentError, "at least one Dataset"),
        (([Dataset.range(2), 5],), BadTypeError, "needs Datasets. Received: 5"),
        (([Dataset.range(2)] * 2, [-1.0, 1.0]), BadArgumentError, "Expected: 2 weights"),
        (
            ([Dataset.range(2), Dataset.range(3, output_type=np.int32)],),
            BadTypeError,
            "same structure and dtypes",
        ),
    ],
)
def test_wrong_arguments_are_refused(arguments, error, match):
    with pytest.raises(error, match=match):
        Dataset.sample_from_datasets(*arguments)


def test_choices_are_numbers_of_datasets():
    with pytest.raises(BadTypeError, match="whole numbers.*Received: element_spec"):
        Dataset.choose_from_datasets([Dataset.range(2)], Dataset.from_tensors("a"))
    with pytest.raises(DataError, match="0 <= number < 1.*Received: 1"):
        list(Dataset.choose_from_datasets([Dataset.range(9)], Dataset.range(3)))


def test_workers_together_see_the_chosen_elements_once():
    options = Options()
    options.experimental_distribute.auto_shard_policy = AutoShardPolicy.DATA
    ds = Dataset.sample_from_datasets([Dataset.range(20), stream(13)], seed=2).with_options(options)
    parts = [[int(x) for x in auto_shard(ds, 3, index)] for index in range(3)]
    assert sorted(x for part in parts for x in part) == sorted([*range(20), *range(13)])


def test_workers_read_files_of_their_own_of_each_dataset(tmp_path):
    options = Options()
    options.experimental_distribute.auto_shard_policy = AutoShardPolicy.FILE
    members = []
    for kind in "ab":
        names = [str(tmp_path / f"{kind}{i}") for i in range(2)]
        for i, name in enumerate(names):
            with open(name, "w") as file:
                file.write(f"{kind}{i}0\n{kind}{i}1\n")
        members.append(TextLineDataset(names))
    ds = Dataset.sample_from_datasets(members, seed=1).with_options(options)
    parts = [sorted(auto_shard(ds, 2, index)) for index in range(2)]
    assert parts == [[b"a00", b"a01", b"b00", b"b01"], [b"a10", b"a11", b"b10", b"b11"]]


@pytest.mark.parametrize("initial", [[0.9, 0.1], None])
def test_classes_come_as_often_as_they_should(initial):
    labels = (np.random.default_rng(0).random(4000) < 0.1).astype(np.int32)
    ds = Dataset.from_tensor_slices((labels, np.arange(4000)))
    made = list(ds.rejection_resample(lambda label, _: label, [0.5, 0.5], initial, seed=1))
    share = np.mean([int(label) for label, _ in made])
    assert abs(share - 0.5) < 0.05
    assert all(int(label) == int(element[0]) for label, element in made)


def test_classes_that_come_as_they_should_are_taken_as_they_come():
    made = Dataset.range(10).rejection_resample(lambda x: x % 2, [0.5, 0.5], [0.5, 0.5])
    assert [int(x) for _, x in made] == list(range(10))


@pytest.mark.parametrize("weights", [[1, 1], np.array([1, 1]), np.array([1, 1], np.float16), ["a", "b"]])
def test_weights_are_floats(weights):
    with pytest.raises(BadTypeError, match="float32 or float64.*Received: weights"):
        Dataset.sample_from_datasets([Dataset.range(2), Dataset.range(2)], weights)
    with pytest.raises(BadTypeError, match="float32 or float64.*Received: weights"):
        Dataset.sample_from_datasets(
            [Dataset.range(2), Dataset.range(2)], Dataset.from_tensors(np.asarray(weights)).repeat()
        )


def test_weights_may_mix_numbers_and_floats():
    sampled = Dataset.sample_from_datasets([Dataset.range(2), Dataset.range(2)], [1, 0.5])
    assert sorted(int(x) for x in sampled) == [0, 0, 1, 1]
