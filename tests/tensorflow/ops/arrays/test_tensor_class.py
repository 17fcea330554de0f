"""`tf.Tensor` is the class of arrays, elements and text."""

import functools
import typing

import jax
import keras
import numpy as np
import pytest

import stratax.tf as tf


def test_the_class_of_tensors_is_that_of_arrays_elements_and_text():
    (element,) = tf.data.Dataset.from_tensors(np.ones(2))
    seen = []
    list(tf.data.Dataset.from_tensors(np.ones(2)).map(lambda x: seen.append(isinstance(x, tf.Tensor)) or x))
    tf.function(lambda x: seen.append(isinstance(x, tf.Tensor)))(tf.ones([2]))
    assert seen
    assert all(seen)
    for x in (
        tf.ones([2]),
        element,
        tf.constant("a"),
        tf.constant(["a"]),
        tf.shape(tf.ones([2])),
        tf.rank([1]),
    ):
        assert isinstance(x, tf.Tensor)
        assert issubclass(type(x), tf.Tensor)
    for x in (np.ones(2), np.float32(1), 1, "a", b"a", [tf.ones([2])], tf.Variable(1.0), keras.Input((2,))):
        assert not isinstance(x, tf.Tensor)
    assert issubclass(jax.Array, tf.Tensor)
    assert not issubclass(np.ndarray, tf.Tensor)


def test_tensors_of_graphs_are_of_the_class():
    with tf.Graph().as_default():
        for dtype in (tf.float32, tf.int32, tf.string):
            assert isinstance(tf.compat.v1.placeholder(dtype), tf.Tensor)
        assert isinstance(tf.constant(1.0) + 1, tf.Tensor)
        assert isinstance(tf.constant("a"), tf.compat.v1.Tensor)
        variable = tf.compat.v1.get_variable("a", [])
        assert not isinstance(variable, tf.Tensor)
        assert isinstance(variable + 1, tf.Tensor)


def test_the_class_of_tensors_stands_in_annotations_and_has_the_methods_of_arrays():
    class Own(tf.Tensor):
        """A class of a program's own."""

    @functools.singledispatch
    def kind(x):
        return "another"

    kind.register(tf.Tensor)(lambda x: "tensor")
    assert (kind(tf.constant("a")), kind(tf.ones([2])), kind(1)) == ("tensor", "tensor", "another")
    assert (tf.Tensor | None) == typing.Optional[tf.Tensor]  # noqa: UP045
    assert tf.Tensor.reshape is jax.Array.reshape
    assert not isinstance(tf.ones([2]), Own)
    with pytest.raises(TypeError, match=r"Use tf\.constant"):
        tf.Tensor()
