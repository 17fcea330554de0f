"""`window`."""

import contextlib

import numpy as np
import pytest

from stratax.data import Dataset, DatasetSpec, TensorSpec
from stratax.data.dataset import experimental
from stratax.errors import BadTypeError, DataError
from tests.data.pipelines import broken, stream
from tests.data.reference import as_lists


def windows(dataset):
    return [as_lists(window) for window in dataset]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((3,), [[0, 1, 2], [3, 4, 5], [6]]),
        ((3, 2), [[0, 1, 2], [2, 3, 4], [4, 5, 6], [6]]),
        ((3, 1, 2), [[0, 2, 4], [1, 3, 5], [2, 4, 6], [3, 5], [4, 6], [5], [6]]),
        ((2, 3), [[0, 1], [3, 4], [6]]),
        ((3, None, 1, True), [[0, 1, 2], [3, 4, 5]]),
        ((3, 1, 2, True), [[0, 2, 4], [1, 3, 5], [2, 4, 6]]),
    ],
)
def test_windows_are_those_of_tensorflow(arguments, expected):
    dataset = Dataset.range(7).window(*arguments)
    assert windows(dataset) == expected
    assert len(dataset) == len(expected)
    stream = Dataset.range(7).filter(lambda x: x >= 0).window(*arguments)
    assert windows(stream) == expected


def test_windows_of_structures_are_structures_of_datasets():
    dataset = Dataset.from_tensor_slices({"a": np.arange(4), "b": np.ones((4, 2))}).window(2)
    assert dataset.element_spec["b"] == DatasetSpec(TensorSpec((2,), "float64"))
    first = next(iter(dataset))
    assert as_lists(first["a"]) == [0, 1]
    flat = dataset.flat_map(lambda w: Dataset.zip(w["a"], w["b"]).batch(2))
    assert [a.tolist() for a, _ in flat] == [[0, 1], [2, 3]]


def test_an_element_that_fails_takes_the_windows_it_belongs_to_with_it():
    def pipeline():
        return stream(9).map(broken).window(3, shift=1, stride=2)

    def following(iterator):
        found = []
        while True:
            try:
                found.append(as_lists(next(iterator)))
            except StopIteration:
                return found
            except ValueError as e:
                found.append(str(e))

    failed = "element 3 is broken"
    whole = [[0, 2, 4], failed, [2, 4, 6], failed, [4, 6, 8], [5, 7], [6, 8], [7], [8]]
    assert following(iter(pipeline())) == whole
    iterator = iter(pipeline())
    for place in range(len(whole)):
        restored = iter(pipeline())
        restored.set_state(iterator.get_state())
        assert following(restored) == whole[place:]
        with contextlib.suppress(ValueError):
            next(iterator)


def test_windows_flatten_to_batches():
    dataset = Dataset.range(6).window(3, shift=1, drop_remainder=True).flat_map(lambda w: w.batch(3))
    assert as_lists(dataset) == [[0, 1, 2], [1, 2, 3], [2, 3, 4], [3, 4, 5]]
    assert hash(DatasetSpec(1)) == hash(DatasetSpec(1))
    assert repr(DatasetSpec(1)) == "DatasetSpec(1, TensorShape([]))"


@pytest.mark.parametrize(
    "batch",
    [lambda ds: ds.batch(2), lambda ds: ds.ragged_batch(2), lambda ds: ds.batch(2, num_parallel_calls=2)],
)
def test_a_batch_of_windows_is_taken_apart_again(batch):
    # TensorFlow 2.21 gives a value that knows how many Datasets it holds, and no more.
    batches = batch(Dataset.range(7).window(3))
    assert batches.element_spec == DatasetSpec(TensorSpec((), "int64"), (None,))
    assert [element.shape for element in batches] == [(2,), (1,)]
    whole = [[0, 1, 2], [3, 4, 5], [6]]
    assert windows(batches.unbatch()) == windows(batches.flat_map(Dataset.from_tensor_slices)) == whole
    assert windows(Dataset.from_tensor_slices(next(iter(batches)))) == whole[:2]
    assert windows(Dataset.from_tensors(next(iter(batches))).unbatch()) == whole[:2]
    assert [len(element.rows) for element in batches.rebatch(1)] == [1, 1, 1]
    assert [len(element.rows) for element in batches.rebatch([0, 2])] == [0, 2, 0, 1]


def test_batches_of_batches_of_windows_keep_what_they_are():
    twice = Dataset.range(8).window(2).batch(2).batch(2)
    assert repr(twice.element_spec.batched(3)) == (
        "DatasetSpec(TensorSpec(shape=(), dtype=tf.int64, name=None), TensorShape([3, None, None]))"
    )
    assert next(iter(twice)).shape == (2, 2)
    assert next(iter(twice)).spec.dataset_shape == (2, 2)
    assert windows(twice.unbatch().unbatch()) == [[0, 1], [2, 3], [4, 5], [6, 7]]
    with pytest.raises(DataError, match="need one size. Received: sizes=\\[\\(2,\\), \\(1,\\)\\]"):
        list(Dataset.range(6).window(2).batch(2).batch(2))


def test_batches_of_windows_stand_beside_other_components_and_go_through_operations():
    beside = Dataset.zip((Dataset.range(6).window(2), Dataset.range(3)))
    for batches in (beside.batch(2), beside.ragged_batch(2)):
        assert [numbers.tolist() for _, numbers in batches] == [[0, 1], [2]]
        assert [(as_lists(w), int(n)) for w, n in batches.unbatch()] == [
            ([0, 1], 0),
            ([2, 3], 1),
            ([4, 5], 2),
        ]
    batches = Dataset.range(8).window(2).batch(2)
    whole = [[0, 1], [2, 3], [4, 5], [6, 7]]
    for same in (batches.cache(), batches.prefetch(1), batches.take(2), batches.map(lambda b: b)):
        assert windows(same.unbatch()) == whole
        assert windows(same.repeat(2).unbatch()) == whole * 2
    turns = batches.interleave(Dataset.from_tensor_slices, cycle_length=2)
    assert windows(turns) == [[0, 1], [4, 5], [2, 3], [6, 7]]


def test_windows_of_other_sizes_follow_one_another():
    def whole(sizes):
        return Dataset.from_tensors(np.zeros(sizes)).window(1)

    both = whole((2,)).concatenate(whole((3,)))
    assert both.element_spec == DatasetSpec(TensorSpec((None,), "float64"))
    assert [np.shape(next(iter(window))) for window in both] == [(2,), (3,)]
    with pytest.raises(BadTypeError, match="need elements of the same structure and dtypes"):
        whole((2,)).concatenate(Dataset.range(3).window(1))


def test_what_tensorflow_refuses_of_windows_is_refused():
    # The classes of error are those of TensorFlow 2.21.
    dataset = Dataset.range(6).window(2)
    with pytest.raises(TypeError, match="as_numpy_iterator\\(\\) is not supported for Datasets in elements"):
        dataset.as_numpy_iterator()
    with pytest.raises(TypeError, match="as_numpy_iterator\\(\\) is not supported for Datasets in elements"):
        list(dataset.map(lambda window: window).as_numpy_iterator())
    with pytest.raises(TypeError, match="sparse_batch takes elements of one component, an array"):
        dataset.sparse_batch(2, [3])
    with pytest.raises(ValueError, match="Slicing dataset elements is not supported for rank 0"):
        dataset.unbatch()
    with pytest.raises(ValueError, match="Slicing dataset elements is not supported for rank 0"):
        dataset.rebatch(2)
    with pytest.raises(TypeError, match="The state of a scan is made of arrays"):
        dataset.scan(Dataset.range(2), lambda state, window: (state, window))
    with pytest.raises(NotImplementedError, match="Random access is not implemented"):
        experimental.at(dataset, 1)
    for to_device in (experimental.prefetch_to_device("/gpu:0"), experimental.copy_to_device("/gpu:0")):
        with pytest.raises(TypeError, match="Datasets in elements stay on the host"):
            dataset.apply(to_device)
    with pytest.raises(TypeError, match="can't be converted to an array of NumPy"):
        next(iter(dataset.batch(2))).numpy()
