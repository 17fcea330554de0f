"""`tf.linalg`: what is refused, where results are, batches; the numbers are in tests/golden/surface."""

import jax
import numpy as np
import pytest

import stratax.tf as tf
from stratax.errors import BadArgumentError, BadTypeError

MATRICES = np.array([[[4.0, 1.0], [1.0, 3.0]], [[2.0, 0.0], [1.0, 1.0]]], np.float32)
SQUARE = MATRICES[0]


@pytest.mark.parametrize(
    "name", ["det", "inv", "expm", "sqrtm", "cholesky", "eigvalsh", "pinv", "trace", "matrix_rank"]
)
def test_results_are_where_the_matrices_are(name):
    function = getattr(tf.linalg, name)
    assert isinstance(function(MATRICES), np.ndarray)
    assert isinstance(function(tf.constant(SQUARE)), jax.Array)
    np.testing.assert_allclose(function(tf.constant(SQUARE)), function(MATRICES)[0], rtol=1e-4)


@pytest.mark.parametrize(
    ("function", "what"),
    [
        (lambda: tf.linalg.inv(np.ones((2, 2))), "can't be computed"),
        (lambda: tf.linalg.solve(np.zeros((2, 2)), np.ones((2, 1))), "can't be computed"),
        (lambda: tf.linalg.det(np.ones((2, 3))), "square matrices"),
        (lambda: tf.linalg.solve(SQUARE, np.ones((3, 1))), "as many rows"),
        (lambda: tf.linalg.band_part(np.ones(3), 0, 0), "must hold matrices"),
        (lambda: tf.linalg.diag_part(SQUARE, k=2), "diagonals in order"),
        (lambda: tf.linalg.diag_part(SQUARE, k=(0, 1, 2)), "the lowest and the highest"),
        (lambda: tf.linalg.diag(np.ones((2, 2)), k=(-1, 1)), "if there are several"),
        (lambda: tf.linalg.set_diag(SQUARE, np.ones(3)), "Expected: diagonals of shape"),
        (lambda: tf.linalg.tensor_diag_part(np.ones((2, 3))), "same sizes twice"),
        (lambda: tf.linalg.cross(np.ones(2), np.ones(2)), "vectors of three"),
        (lambda: tf.linalg.tridiagonal_solve(np.ones((2, 3)), np.ones(3)), "three diagonals"),
        (
            lambda: tf.linalg.tridiagonal_matmul(SQUARE, np.ones((2, 1)), "dense"),
            "diagonals_format is one of",
        ),
        (lambda: tf.linalg.eigh_tridiagonal(np.ones(3), np.ones(2), select="v"), "choose among all"),
        (lambda: tf.matmul(np.ones(2), SQUARE), "tf.linalg.matvec"),
        (lambda: tf.norm(SQUARE, "max"), "A norm of vectors"),
    ],
)
def test_what_does_not_fit_is_refused_with_a_sentence(function, what):
    with pytest.raises(BadArgumentError, match=what):
        function()


def test_products_of_small_integers_can_have_a_wider_dtype():
    product = tf.matmul(np.full((1, 4), 100, np.int8), np.full((4, 1), 100, np.int8), output_type=tf.int32)
    assert product.tolist() == [[40000]]


@pytest.mark.parametrize(
    ("equation", "shapes", "message"),
    [
        ("ij,jk->ik", [(1, 2), (1, 2)], "Expected dimension 2 for 'j' of 'ij,jk->ik' but got dimension 1"),
        ("ij,jk->ik", [(2,), (1, 2)], "Expected input 0 to have rank 2 but got: 1"),
        ("...ij,jk", [(2,), (2, 2)], "Expected input 0 to have rank 2 at least but got: 1"),
        ("ii", [(2, 3)], "Expected dimension 2 for 'i'"),
        ("ij,jk->ik", [(2, 2)], "Expected: 2 for 'ij,jk->ik'. Received: 1"),
    ],
)
def test_arrays_that_do_not_fit_an_equation_raise(equation, shapes, message):
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        tf.einsum(equation, *map(tf.ones, shapes))


def test_an_equation_may_have_any_dimensions_before_the_named_ones():
    assert tf.einsum("...ij,...jk->...ik", tf.ones([4, 1, 2, 3]), tf.ones([5, 3, 1])).shape == (4, 5, 2, 1)
    with pytest.raises(BadTypeError, match="An equation is text"):
        tf.einsum(tf.ones([2]), tf.ones([2]))


def test_products_and_random_numbers_of_a_pipeline_stay_on_the_host():
    left, right = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4)
    kinds = []

    def compute(a):
        drawn = tf.random.normal([3])
        products = (
            tf.matmul(a, right),
            tf.matmul(right, a, transpose_a=True, transpose_b=True),
            tf.tensordot(a, right, 1),
            tf.keras.backend.dot(a, right),
            tf.keras.backend.clip(tf.keras.backend.cast(a, "float32"), 1, 4),
        )
        kinds.extend(isinstance(value, np.ndarray) for value in (drawn, *products))
        return (*products, drawn)

    tf.random.set_seed(0)
    found = list(tf.data.Dataset.from_tensors(left).repeat(2).map(compute))
    assert kinds
    assert all(kinds)
    wanted = (left @ right, (left @ right).T, left @ right, left @ right, np.clip(left, 1, 4))
    for value, expected in zip(found[0], wanted, strict=False):
        np.testing.assert_array_equal(value, expected)
    assert [value.dtype for value in found[0]] == [*["float64"] * 4, "float32", "float32"]
    assert set(found[0][-1].numpy()).isdisjoint(found[1][-1].numpy())
