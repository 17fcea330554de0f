"""Tests of SparseTensors and RaggedTensors in compiled functions: what is computed, and what is refused by name."""

import numpy as np
import pytest

import stratax.tf as tf
from stratax.errors import TracingError


def _sparse():
    return tf.sparse.SparseTensor([[0, 0], [1, 2]], [1.0, 2.0], [3, 4])


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
