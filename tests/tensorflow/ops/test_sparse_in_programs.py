"""Tests of SparseTensors and RaggedTensors in compiled functions: what is computed, and what is refused by name."""

import numpy as np
import pytest

import stratax.tf as tf
from stratax.errors import TracingError


def _sparse():
    return tf.sparse.SparseTensor([[0, 0], [1, 2]], [1.0, 2.0], [3, 4])


def _ragged():
    return tf.ragged.constant([[1.0, 2.0], [3.0]])


@pytest.mark.parametrize(
    "name", ["to_dense", "reduce_sum", "reduce_max", "reorder", "softmax", "transpose", "expand_dims"]
)
def test_a_function_of_sparse_tensors_says_that_it_computes_on_the_host(name):
    with pytest.raises(TracingError, match=rf"tf.sparse.{name} computes with SparseTensors on the host"):
        tf.function(getattr(tf.sparse, name))(_sparse())


def test_a_product_and_a_lookup_name_the_sparse_tensor():
    with pytest.raises(TracingError, match="tf.sparse.sparse_dense_matmul computes with SparseTensors"):
        tf.function(tf.sparse.sparse_dense_matmul)(_sparse(), tf.ones([4, 2]))
    ids = tf.sparse.SparseTensor([[0, 0], [1, 2]], [1, 2], [3, 4])
    with pytest.raises(TracingError, match="needs the number of rows of a SparseTensor"):
        tf.function(lambda ids: tf.nn.embedding_lookup_sparse(tf.ones([4, 2]), ids, None))(ids)


def test_a_program_makes_a_sparse_tensor_of_a_known_shape_dense():
    @tf.function
    def dense(values):
        return tf.sparse.to_dense(tf.sparse.SparseTensor([[0, 0], [1, 2]], values, [2, 3]), -1.0)

    assert dense(tf.constant([1.0, 2.0])).tolist() == [[1.0, -1.0, -1.0], [-1.0, -1.0, 2.0]]


def test_a_program_maps_the_values_of_a_sparse_tensor():
    made = tf.function(lambda sparse: tf.sparse.map_values(tf.square, sparse))(_sparse())
    assert np.asarray(made.values).tolist() == [1.0, 4.0]
    assert np.asarray(made.indices).tolist() == [[0, 0], [1, 2]]


@pytest.mark.parametrize(
    "function", [tf.reduce_sum, tf.reduce_max, tf.reduce_mean, lambda rows: tf.concat([rows, rows], 1)]
)
def test_a_reduction_of_ragged_rows_says_that_it_computes_on_the_host(function):
    with pytest.raises(TracingError, match="of a RaggedTensor computes on the host"):
        tf.function(function)(_ragged())


def test_a_mask_of_ragged_rows_is_refused_by_name():
    with pytest.raises(
        TracingError, match="tf.ragged.boolean_mask gives rows whose lengths depend on values"
    ):
        tf.function(lambda rows: tf.ragged.boolean_mask(rows, rows > 1))(_ragged())


@pytest.mark.parametrize("method", ["value_rowids", "bounding_shape"])
def test_a_method_that_needs_lengths_of_rows_says_so(method):
    with pytest.raises(TypeError, match=f"{method} needs the lengths of rows"):
        tf.function(lambda rows: getattr(rows, method)())(_ragged())
