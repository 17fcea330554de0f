"""`TensorShape`, and `get_shape` and `set_shape` of what mapped functions get."""

import functools
import operator
import pickle

import numpy as np
import pytest

import stratax.tf as tf
from stratax.data.vectorise import prove
from stratax.errors import BadArgumentError


def test_a_tensor_shape_is_a_tuple_with_tensorflows_methods():
    shape = tf.TensorShape([None, 28, 3])
    assert (shape, shape.rank, shape.ndims, shape.as_list()) == ((None, 28, 3), 3, 3, [None, 28, 3])
    assert (shape.is_fully_defined(), shape.num_elements(), shape[1:].num_elements()) == (False, None, 84)
    assert tf.TensorShape([]).num_elements() == 1
    assert shape.merge_with([5, None, 3]) == (5, 28, 3)
    assert shape.merge_with(None) is shape
    assert shape.concatenate([2]) == (None, 28, 3, 2)
    assert [shape.is_compatible_with(other) for other in (None, (1, 28, 3), (1, 2, 3), (1, 28))] == [
        True,
        True,
        False,
        False,
    ]
    assert repr(shape) == "TensorShape([None, 28, 3])"


def test_a_tensor_shape_compares_adds_and_prints_as_tensorflows():
    shape = tf.TensorShape([1, None])
    assert shape == [1, None]
    assert shape == (1, None)
    assert shape != [1, 2]
    assert shape != "ab"
    assert hash(shape) == hash((1, None))
    assert {shape: 1}[1, None] == 1
    assert (repr(operator.add(shape, [3])), repr(operator.add((3,), shape))) == (
        "TensorShape([1, None, 3])",
        "TensorShape([3, 1, None])",
    )
    assert (str(shape), f"{shape}", repr(tf.TensorShape(7))) == ("(1, None)", "(1, None)", "TensorShape([7])")
    assert repr(shape[:1]) == "TensorShape([1])"
    copied = pickle.loads(pickle.dumps((shape, tf.TensorShape(None))))
    assert copied == (shape, tf.TensorShape(None))
    assert type(copied[0]) is tf.TensorShape


def test_shapes_of_unknown_rank_agree_with_all():
    unknown = tf.TensorShape(None)
    assert (repr(unknown), str(unknown), bool(unknown)) == ("TensorShape(None)", "<unknown>", False)
    assert (unknown.rank, unknown.ndims, unknown.dims, unknown.num_elements()) == (None, None, None, None)
    assert unknown == tf.TensorShape(None)
    assert unknown != []
    assert tf.TensorShape([]) != unknown
    assert unknown.merge_with([1]) == unknown.with_rank(1).merge_with([1]) == [1]
    assert unknown.is_compatible_with([3])
    assert not unknown.is_fully_defined()
    assert unknown[0] is None
    assert unknown[1:] is unknown
    assert unknown[:2] == [None, None]
    assert operator.add(unknown, [1]) is unknown
    assert tf.TensorShape([1]).concatenate(None) is unknown
    assert tf.TensorSpec(unknown).shape is None
    for use in (len, list, lambda shape: shape.as_list()):
        with pytest.raises(BadArgumentError, match="unknown rank has no"):
            use(unknown)


def test_shapes_are_generalised_and_subtypes():
    shape = tf.TensorShape([3, 2])
    assert shape.most_specific_compatible_shape([1, 2]) == [None, 2]
    assert shape.most_specific_compatible_shape([2]).rank is None
    assert shape.most_specific_common_supertype([[3, 2], [3, 4]]) == [3, None]
    assert shape.is_subtype_of([None, 2])
    assert not tf.TensorShape([None, 2]).is_subtype_of(shape)
    assert shape.with_rank_at_least(2) is shape
    assert shape.with_rank_at_most(2) is shape


@pytest.mark.parametrize(
    ("use", "expected"),
    [
        (lambda shape: shape.merge_with([4, None]), "No array has both of these shapes"),
        (lambda shape: shape.with_rank(1), "No array has both of these shapes"),
        (lambda shape: shape.assert_has_rank(1), "Expected: rank 1"),
        (lambda shape: shape.with_rank_at_least(3), "Expected: a rank of at least 3"),
        (lambda shape: shape.with_rank_at_most(1), "Expected: a rank of at most 1"),
        (lambda shape: shape.assert_same_rank([1]), r"Expected: the rank of \(1,\)"),
        (lambda _: tf.TensorShape([None]).assert_is_fully_defined(), "sizes are all known"),
        (lambda _: tf.TensorShape([-2]), "sizes of a shape are not negative"),
    ],
)
def test_shapes_that_no_array_has_are_refused(use, expected):
    with pytest.raises(BadArgumentError, match=expected):
        use(tf.TensorShape([3, 28]))


def test_tensor_shapes_are_taken_where_shapes_are():
    shapes = (tf.TensorShape([None]), tf.TensorShape([]))
    dataset = tf.data.Dataset.from_generator(
        lambda: iter([([1, 2], 0), ([3], 1)]), (tf.int64, tf.int64), shapes
    )
    assert [spec.shape for spec in dataset.element_spec] == [(None,), ()]
    padded = next(iter(dataset.padded_batch(2, padded_shapes=shapes)))
    assert padded[0].tolist() == [[1, 2], [3, 0]]


def _with_shapes(size, images, labels):
    images.set_shape(images.get_shape().merge_with(tf.TensorShape([size, None])))
    labels.set_shape([size])
    return images, labels


def test_set_shape_checks_what_a_mapped_function_gets():
    data = tf.data.Dataset.from_tensor_slices((np.zeros((12, 3)), np.arange(12))).batch(4)
    assert data.map(functools.partial(_with_shapes, 4)).element_spec[0].shape == (4, 3)
    assert [len(labels) for _, labels in data.map(functools.partial(_with_shapes, 4))] == [4, 4, 4]
    with pytest.raises(BadArgumentError, match="No array has both"):
        list(data.map(functools.partial(_with_shapes, 3)))


def test_functions_that_set_shapes_are_called_for_whole_blocks():
    def set_shape(image):
        image.set_shape([3])
        return image + 1

    assert prove(set_shape) is not None
    data = tf.data.Dataset.from_tensor_slices(np.zeros((20, 3))).map(set_shape)
    assert [row.tolist() for row in data] == [[1, 1, 1]] * 20


def test_set_shape_refuses_another_shape():
    def set_shape(image):
        image.set_shape([2, None])
        return image

    with pytest.raises(
        BadArgumentError, match=r"Expected: shape=\[2, None\]. Received: an array of shape \(3,\)"
    ):
        list(tf.data.Dataset.from_tensor_slices(np.zeros((2, 3))).map(set_shape))


def test_what_is_decoded_in_a_pipeline_has_shapes_and_tensorflows_operators():
    photo = tf.image.encode_jpeg(np.full((2, 3, 3), 100, np.uint8))

    def decode(raw):
        numbers = tf.decode_raw(raw, tf.uint8)
        numbers.set_shape([4])
        image = tf.image.decode_jpeg(photo)
        image.set_shape([None, None, 3])
        return numbers / 2, image.get_shape().as_list()

    records = np.array([b"\x00\x01\x02\x03"], object)
    ((halves, shape),) = tf.data.Dataset.from_tensor_slices(records).map(decode)
    assert (halves.dtype, halves.tolist()) == (np.float32, [0, 0.5, 1, 1.5])
    assert shape.tolist() == [2, 3, 3]
    assert type(tf.decode_raw(b"\x00", tf.uint8).numpy()) is np.ndarray


def test_a_list_that_a_shape_is_added_to_stays_a_list():
    sizes = [1]
    sizes += tf.TensorShape([2, 3])
    sizes.append(4)
    assert sizes == [1, 2, 3, 4]
    assert [1] + tf.TensorShape([2]) == [1, 2]  # noqa: RUF005


@pytest.mark.parametrize("sizes", [(), (4,), (-1, None), (np.int64(3), 2)])
def test_a_tuple_that_a_shape_is_added_to_becomes_a_shape(sizes):
    for shape in (tf.TensorShape([]), tf.TensorShape([2, None])):
        joined = sizes + shape
        assert (type(joined), joined) == (tf.TensorShape, tf.TensorShape(sizes).concatenate(shape))
        assert all(size is None or type(size) is int for size in joined)
    assert (sizes + tf.TensorShape(None)).rank is None
