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


def test_a_cross_leaves_values_with_the_default_separator_in_them_alone():
    inputs = [tf.ragged.constant([["a_X_b"]]).to_sparse(), tf.ragged.constant([["c"]]).to_sparse()]
    assert tf.sparse.cross(inputs, separator="-").values.tolist() == [b"a_X_b-c"]


@pytest.mark.parametrize("adjoint_a", [False, True])
@pytest.mark.parametrize("adjoint_b", [False, True])
def test_a_product_conjugates_what_is_adjoint(adjoint_a, adjoint_b):
    dense = np.array([[1 + 2j, 0], [0, 3j]], np.complex64)
    sparse = tf.sparse.from_dense(dense)
    matrix = np.array([[1 + 1j, 2], [3, 4j]], np.complex64)
    left, right = (dense.conj().T if adjoint_a else dense), (matrix.conj().T if adjoint_b else matrix)
    for given in (matrix, tf.constant(matrix)):
        found = tf.sparse.sparse_dense_matmul(sparse, given, adjoint_a, adjoint_b)
        np.testing.assert_array_equal(np.asarray(found), left @ right)
        # The matrix first.
        found = tf.sparse.sparse_dense_matmul(given, sparse, adjoint_b, adjoint_a)
        np.testing.assert_array_equal(np.asarray(found), right @ left)
