"""`TensorShape`, and `get_shape` and `set_shape` of what mapped functions get."""

import functools

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


def test_shapes_that_no_array_has_and_unknown_ranks_are_refused():
    with pytest.raises(BadArgumentError, match=r"No array has both of these shapes.*\[3, 28\]"):
        tf.TensorShape([3, 28]).merge_with([4, None])
    with pytest.raises(BadArgumentError, match="Pass None itself"):
        tf.TensorShape(None)


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
    assert type(tf.decode_raw(b"\x00", tf.uint8)) is np.ndarray
