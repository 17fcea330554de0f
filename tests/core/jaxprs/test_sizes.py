"""Arrays whose sizes values decide: as large as they can get, and what is behind their sizes counts nowhere."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from stratax import errors
from stratax.core import jaxprs

X = np.arange(12, dtype=np.float32).reshape(6, 2) - 3.0
MASKS = [[1, 0, 1, 1, 0, 0], [0, 0, 0, 0, 0, 1], [1, 1, 1, 1, 1, 1], [0, 0, 0, 0, 0, 0]]


def compute(function, x, mask, *, cuts=False):
    def chosen(x, mask):
        return function(jnp.take(x, jaxprs.find_places(mask), axis=0))

    closed = jaxprs.settle_sizes(jax.make_jaxpr(chosen)(x, mask), cuts=cuts)
    return jax.jit(lambda *given: jaxprs.evaluate(closed, given))(x, mask)


FUNCTIONS = {
    "sum": lambda y: y.sum(0),
    "mean": lambda y: y.mean(0),
    "max": lambda y: (y * 2 - 50).max(0, initial=-1e9),
    "min of whole numbers": lambda y: y.astype(jnp.int32).min(initial=1000),
    "product": lambda y: y.prod(1).sum(),
    "any": lambda y: (y > 6.5).any(0),
    "softmax": lambda y: (jax.nn.softmax(y, 0) ** 2).sum(0),
    "matrix product": lambda y: y.T @ jnp.exp(y),
    "pairs": lambda y: (y[:, None] * y[None]).sum((0, 1)),
    "reshaped": lambda y: y.reshape(-1).max(initial=-9.0),
    "reshaped across": lambda y: y.T.reshape(-1)[::-1].cumsum().max(initial=-99.0),
    "joined": lambda y: jnp.concatenate([y, y * 2, jnp.ones((1, 2))]).mean(0),
    "padded": lambda y: jnp.pad(y, ((2, 1), (0, 0)), constant_values=7.0).mean(0),
    "turned around": lambda y: (y[::-1] * jnp.arange(y.shape[0])[:, None]).sum(),
    "sums on the way back": lambda y: jax.lax.cumsum(y, 0, reverse=True).max(0, initial=-99.0),
    "how many": lambda y: jnp.asarray(y.shape[0] * 3 + 1),
    "sorted": lambda y: (jnp.sort(y, axis=0) * jnp.arange(y.shape[0])[:, None]).sum(),
    "repeated": lambda y: (jnp.tile(y, (2, 1)) * jnp.arange(2 * y.shape[0])[:, None]).sum(),
    "filled up": lambda y: (
        jnp.concatenate([y, jnp.ones((7 - y.shape[0], 2))]) * jnp.arange(7)[:, None]
    ).sum(),
    "without the first": lambda y: y[1:].sum(0),
    "variance": lambda y: y.var(),
}


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
@pytest.mark.parametrize("mask", MASKS, ids=["some", "one", "all", "none"])
def test_what_is_computed_of_chosen_rows_is_that_of_an_array_of_them(function, mask):
    mask = np.array(mask, bool)
    (found,) = compute(function, X, mask)
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(found, function(jnp.asarray(X[mask])), rtol=1e-6)


@pytest.mark.parametrize("mask", MASKS[:3], ids=["some", "one", "all"])
def test_rows_of_it_are_found_by_number(mask):
    def rows(y):
        return jnp.stack([y[0], y[-1], jax.lax.dynamic_index_in_dim(y, y.shape[0] - 1, keepdims=False)])

    mask = np.array(mask, bool)
    (found,) = compute(rows, X, mask)
    np.testing.assert_array_equal(found, X[mask][[0, -1, -1]])


@pytest.mark.parametrize("mask", MASKS[:3], ids=["some", "one", "all"])
def test_derivatives_go_to_the_rows_that_were_chosen(mask):
    def of_rows(y):
        return jnp.sqrt(y + 4.0).mean() + (y * jnp.flip(y)).sum() + y.max()

    def loss(x, mask):
        return of_rows(jnp.take(x, jaxprs.find_places(mask), axis=0))

    mask = np.array(mask, bool)
    closed = jaxprs.settle_sizes(jax.make_jaxpr(jax.grad(loss))(X, mask))
    expected = np.zeros_like(X)
    expected[mask] = jax.grad(of_rows)(jnp.asarray(X[mask]))
    np.testing.assert_allclose(jaxprs.evaluate(closed, [X, mask])[0], expected, rtol=1e-6)


def test_a_loop_over_rows_chooses_in_each():
    def of_row(_, row):
        x, mask = row
        return (), jnp.take(x, jaxprs.find_places(mask)).sum()

    masks = np.array(MASKS, bool)
    values = np.tile(np.arange(6.0, dtype=np.float32), (4, 1))
    found = jax.jit(lambda *rows: jax.lax.scan(jaxprs.settle_within(of_row), (), rows)[1])(values, masks)
    assert found.tolist() == [5.0, 5.0, 15.0, 0.0]


def test_a_result_of_such_a_size_is_refused_or_cut_by_who_takes_it():
    mask = np.array(MASKS[0], bool)
    with pytest.raises(
        errors.BadTypeError, match="depends on values that are known only when .* a loop or a"
    ):
        compute(lambda y: y, X, mask)
    (found,) = compute(lambda y: y, X, mask, cuts=True)
    np.testing.assert_array_equal(found[:3], X[mask])


def test_what_needs_the_shape_is_refused():
    with pytest.raises(
        errors.BadTypeError, match=r"Received: the operation 'cumlogsumexp'. Use tf.where\(mask, tensor, 0\)"
    ):
        compute(lambda y: jax.lax.cumlogsumexp(y, axis=0).sum(), X, np.array(MASKS[0], bool))


def test_a_program_without_such_sizes_is_left_as_it_is():
    closed = jax.make_jaxpr(jnp.sin)(1.0)
    assert jaxprs.settle_sizes(closed) is closed
