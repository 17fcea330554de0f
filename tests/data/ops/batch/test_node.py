"""Batches, padded batches, and taking them apart."""

import numpy as np
import pytest

from stratax.data import UNKNOWN_CARDINALITY, Dataset, TensorSpec
from stratax.errors import BadArgumentError, BadTypeError, DataError
from tests.data.reference import as_lists

RAGGED = [[1], [2, 3], [4, 5, 6], [7]]


def ragged(streaming=False):
    dataset = Dataset.range(4).map(lambda i: np.array(RAGGED[int(i)], np.int32))
    return dataset.filter(lambda x: x.size > 0) if streaming else dataset


@pytest.mark.parametrize(
    ("length", "drop", "leading"), [(10, False, None), (12, False, 4), (10, True, 4), (0, False, 4)]
)
def test_the_leading_size_is_known_unless_the_last_batch_is_short(length, drop, leading):
    dataset = Dataset.range(length).batch(4, drop_remainder=drop)
    assert dataset.element_spec == TensorSpec((leading,), "int64")
    assert dataset.batch_size == 4
    assert len(dataset) == len(list(dataset))


def test_endless_and_streamed_batches_have_their_spec():
    assert Dataset.range(10).repeat().batch(4).element_spec.shape == (4,)
    assert Dataset.range(10).filter(lambda x: x > 1).batch(4).element_spec.shape == (None,)
    assert Dataset.range(10).filter(lambda x: x > 1).batch(4, True).element_spec.shape == (4,)


def test_the_batch_size_is_seen_through_what_keeps_it():
    dataset = Dataset.range(20).batch(8)
    for one in (
        dataset.repeat().shuffle(9).take(3).prefetch(2).cache(),
        dataset.map(lambda x: (x, x + 1)),
        Dataset.zip(dataset, dataset),
        dataset.filter(lambda x: len(x) == 8),
    ):
        assert one.batch_size == 8
    for one in (
        Dataset.range(20),
        dataset.unbatch(),
        dataset.map(lambda x: x.sum()),
        Dataset.zip(dataset, dataset.rebatch(2)),
        dataset.map(lambda x: x, num_parallel_calls=2).map(lambda x: x[:3]),
    ):
        assert one.batch_size is None


def test_batches_of_batches():
    dataset = Dataset.range(10).batch(2).batch(2)
    assert as_lists(dataset) == [[[0, 1], [2, 3]], [[4, 5], [6, 7]], [[8, 9]]]
    with pytest.raises(DataError, match="components of one shape"):
        list(Dataset.range(5).batch(2).batch(3))


def test_unbatch_takes_apart_what_batch_or_an_array_put_together():
    assert as_lists(Dataset.range(7).batch(3).unbatch()) == list(range(7))
    assert as_lists(Dataset.range(7).batch(3, drop_remainder=True).unbatch()) == list(range(6))
    assert as_lists(Dataset.range(7).batch(3).prefetch(1).unbatch()) == list(range(7))
    assert Dataset.range(7).batch(3).unbatch().is_indexable
    matrix = Dataset.from_tensors((np.arange(6).reshape(2, 3), [7, 8]))
    assert [(a.tolist(), int(b)) for a, b in matrix.unbatch()] == [([0, 1, 2], 7), ([3, 4, 5], 8)]
    assert len(matrix.unbatch()) == 2
    assert matrix.unbatch().element_spec == (TensorSpec((3,), "int64"), TensorSpec((), "int32"))
    assert as_lists(Dataset.range(6).filter(lambda x: x > 1).batch(2).unbatch()) == [2, 3, 4, 5]


def test_unbatch_needs_a_first_axis_of_one_size():
    with pytest.raises(DataError, match="every component needs one"):
        _ = Dataset.range(3).unbatch().element_spec
    with pytest.raises(DataError, match="same first dimension"):
        list(Dataset.from_tensors((np.zeros(2), np.zeros(3))).unbatch())
    with pytest.raises(DataError, match="same first dimension"):
        list(Dataset.range(3).unbatch())


def test_rebatch_keeps_elements_and_order():
    assert as_lists(Dataset.range(7).batch(3).rebatch(2)) == [[0, 1], [2, 3], [4, 5], [6]]
    assert as_lists(Dataset.range(7).batch(3).map(lambda x: x).rebatch(5, True)) == [[0, 1, 2, 3, 4]]
    with pytest.raises(BadArgumentError, match="batch_size"):
        Dataset.range(7).batch(3).rebatch(0)


@pytest.mark.parametrize("streaming", [False, True])
def test_padded_batch_pads_to_the_longest_or_to_a_shape(streaming):
    dataset = ragged(streaming)
    assert as_lists(dataset.padded_batch(2)) == [[[1, 0], [2, 3]], [[4, 5, 6], [7, 0, 0]]]
    wide = dataset.padded_batch(3, padded_shapes=(4,), padding_values=-1)
    assert as_lists(wide) == [[[1, -1, -1, -1], [2, 3, -1, -1], [4, 5, 6, -1]], [[7, -1, -1, -1]]]
    assert as_lists(dataset.padded_batch(3, [None], drop_remainder=True)) == [
        [[1, 0, 0], [2, 3, 0], [4, 5, 6]]
    ]
    assert wide.element_spec.shape[1:] == (4,)


def test_strings_are_padded_with_strings():
    words = Dataset.range(1, 4).map(lambda n: np.array([b"a"] * int(n), object))
    assert as_lists(words.padded_batch(2)) == [[[b"a", b""], [b"a", b"a"]], [[b"a"] * 3]]
    assert as_lists(words.padded_batch(2, padding_values="é"))[0][0] == [b"a", "é".encode()]
    with pytest.raises(DataError, match="one value of the component's dtype.*bytes for strings"):
        words.padded_batch(2, padding_values=0)


@pytest.mark.parametrize(
    ("dtype", "value"), [("uint8", 255), ("float32", np.nan), ("float32", 3), ("bool", True)]
)
def test_padding_may_be_any_value_that_the_dtype_holds(dtype, value):
    rows = Dataset.range(1, 3).map(lambda n: np.zeros(int(n), dtype))
    (batch,) = rows.padded_batch(2, padding_values=value)
    assert batch.dtype == dtype
    np.testing.assert_equal(batch[0, 1], np.asarray(value, dtype))


def test_padded_batch_of_structures():
    dataset = ragged().map(lambda x: {"x": x, "n": x.sum()})
    batch = next(iter(dataset.padded_batch(2, {"x": [None], "n": []}, {"x": np.int32(9), "n": 0})))
    assert batch["x"].tolist() == [[1, 9], [2, 3]]
    assert batch["n"].tolist() == [1, 5]


def test_padded_batches_restore_and_shuffle_by_position():
    dataset = ragged().padded_batch(2)
    iterator = iter(dataset)
    first, count = iterator.next_block(2)
    assert (count, first.shape) == (1, (1, 2, 2))
    restored = iter(dataset)
    restored.set_state(iterator.get_state())
    assert as_lists(restored) == [[[4, 5, 6], [7, 0, 0]]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"padded_shapes": (2,)}, "can't cut an element"),
        ({"padded_shapes": (2, 2)}, "rank of each component"),
        ({"padded_shapes": {"a": (2,)}}, "padded_shapes needs the structure"),
        ({"padding_values": 1.5}, "one value of the component's dtype"),
        ({"padding_values": -(2**31) - 1}, "one value of the component's dtype"),
        ({"padding_values": b"x"}, "one value of the component's dtype"),
        ({"padding_values": (1, 2)}, "padding_values needs the structure"),
    ],
)
def test_padding_that_does_not_fit_is_refused(arguments, message):
    with pytest.raises(DataError, match=message):
        list(ragged().padded_batch(4, **arguments))


def test_padding_needs_one_rank():
    source = Dataset.from_generator(
        lambda: iter([np.zeros(2), np.zeros((2, 2))]), output_signature=TensorSpec(None, "float64")
    )
    with pytest.raises(DataError, match="pads sizes, not ranks"):
        list(source.padded_batch(2))


@pytest.mark.parametrize("size", [0, -3, True])
def test_a_batch_smaller_than_one_is_refused(size):
    for method in ("batch", "padded_batch", "rebatch"):
        with pytest.raises(BadArgumentError, match="batch_size has to be an integer of at least 1"):
            getattr(Dataset.range(5).batch(1), method)(size)
    with pytest.raises(BadTypeError, match="batch_size has to be an integer"):
        Dataset.range(5).batch(2.5)


def test_windows_can_not_be_batched_or_padded():
    with pytest.raises(DataError, match="Datasets can't be stacked"):
        _ = Dataset.range(5).window(2).batch(2).element_spec
    with pytest.raises(DataError, match="Datasets can't be stacked"):
        list(Dataset.range(5).window(2).batch(2))
    with pytest.raises(DataError, match="Datasets can't be padded"):
        Dataset.range(5).window(2).padded_batch(2)


def test_cardinality_of_streamed_batches_is_unknown():
    assert Dataset.range(5).filter(lambda x: x > 1).batch(2).cardinality() == UNKNOWN_CARDINALITY
    assert ragged(streaming=True).unbatch().cardinality() == UNKNOWN_CARDINALITY
