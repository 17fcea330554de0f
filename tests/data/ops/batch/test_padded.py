"""`padded_batch`."""

import numpy as np
import pytest

from stratax.data import Dataset, TensorSpec
from stratax.errors import BadTypeError, DataError
from tests.data.reference import as_lists

RAGGED = [[1], [2, 3], [4, 5, 6], [7]]


def ragged(streaming=False):
    dataset = Dataset.range(4).map(lambda i: np.array(RAGGED[int(i)], np.int32))
    return dataset.filter(lambda x: x.size > 0) if streaming else dataset


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


def test_a_number_is_the_shape_of_a_vector_where_the_elements_have_one():
    dataset = ragged().take(2).map(lambda x: ((x.sum(), x), x))
    ((sums, x), y) = next(iter(dataset.padded_batch(2, padded_shapes=(((), 3), [4]))))
    assert sums.tolist() == [1, 5]
    assert (x.tolist(), y.tolist()) == ([[1, 0, 0], [2, 3, 0]], [[1, 0, 0, 0], [2, 3, 0, 0]])
    pairs = ragged().take(2).map(lambda x: (x, x))
    x, y = next(iter(pairs.padded_batch(2, padded_shapes=(2, 3))))
    assert (x.tolist(), y.tolist()) == ([[1, 0], [2, 3]], [[1, 0, 0], [2, 3, 0]])


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
    # When it is made, as TensorFlow says it.
    with pytest.raises(DataError, match="You must provide `padded_shapes`.*unknown"):
        source.padded_batch(2)
    with pytest.raises(DataError, match="pads sizes, not ranks"):
        list(source.padded_batch(2, padded_shapes=[None]))


def test_windows_can_not_be_padded():
    with pytest.raises(BadTypeError, match="padded_batch pads arrays"):
        Dataset.range(5).window(2).padded_batch(2)
