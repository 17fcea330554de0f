"""Traced programs that run with NumPy give what XLA gives."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from stratax.data.vectorise._numpy_program import NotInNumPy, NumPyProgram, divides_integers, trace

X = np.random.default_rng(0).normal(size=(5, 4, 3)).astype(np.float32)
N = np.random.default_rng(1).integers(-50, 50, size=(5, 4, 3)).astype(np.int32)
B = X > 0

CASES = {
    "arithmetic": lambda x, n, b: (x + n, x - 1, x * x, x / 3, -x, n % 7.0, x**2, x**-1, jnp.abs(x) ** 0.5),
    "integers": lambda x, n, b: (n + 1, n * n, -n, n**2, jnp.abs(n), jnp.sign(n), n & 7, n | 1, n ^ 3, ~n),
    "compared": lambda x, n, b: (x < 0, x <= x, n > 3, n >= 3, x == x, n != 0, b & (n > 0), ~b),
    "functions": lambda x, n, b: (
        jnp.exp(x), jnp.log1p(jnp.abs(x)), jnp.expm1(x), jnp.tanh(x), jnp.sin(x), jnp.cos(x), jnp.sqrt(jnp.abs(x)),
        jnp.log(jnp.abs(x)), lax.rsqrt(jnp.abs(x)), jax.nn.sigmoid(x), jnp.floor(x), jnp.ceil(x), jnp.round(x),
        jnp.exp2(x), jnp.isfinite(x), jnp.square(x),
    ),
    "reductions": lambda x, n, b: (
        x.sum(), x.mean(0), x.max(1), x.min(), n.sum(0), n.prod(1), b.any(), b.all(0), jnp.max(n),
    ),
    "shapes": lambda x, n, b: (
        x.T, x.reshape(-1), x[..., None], x[::-1], x[1:, ::2], jnp.concatenate([x, x], 1), jnp.squeeze(x[:1], 0),
        jnp.broadcast_to(x[0], (2, 3)), jnp.expand_dims(x, 0), jnp.stack([x, x]),
    ),
    "chosen": lambda x, n, b: (jnp.where(b, x, 0), jnp.clip(x, -1, 1), jnp.maximum(x, n), jax.nn.relu(x)),
    "converted": lambda x, n, b: (
        x.astype(jnp.float16), x.astype(jnp.bfloat16), n.astype(jnp.float32), b.astype(jnp.int32), n.astype(jnp.uint8),
        x.astype(bool),
    ),
    "made": lambda x, n, b: (jnp.arange(3) + n, jnp.ones(3) * x, jax.nn.one_hot(n[0], 5), jnp.zeros((2, 2))),
    "nested": lambda x, n, b: jax.jit(lambda a: (a + 1, jax.jit(jnp.tanh)(a)))(x),
    "normalised": lambda x, n, b: jax.nn.softmax(x) + jax.nn.log_softmax(x) + jax.nn.gelu(x),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_program_gives_what_xla_gives(name):
    function = lambda *args: jax.tree.leaves(CASES[name](*args))  # noqa: E731
    program, _ = trace(function, (X, N, B))
    found = NumPyProgram(program)((X.copy(), N.copy(), B.copy()))
    expected = jax.jit(jax.vmap(function))(X, N, B)
    for have, want in zip(found, expected, strict=True):
        assert have.dtype == want.dtype
        assert have.shape == want.shape
        tolerance = 1e-2 if have.dtype == jnp.bfloat16 else 2e-6
        np.testing.assert_allclose(
            have.astype(np.float64), np.asarray(want, np.float64), tolerance, tolerance
        )


@pytest.mark.parametrize(
    "function",
    [
        lambda x, n, b: x.astype(jnp.int32),
        lambda x, n, b: n // 3,
        lambda x, n, b: x @ x.T,
        lambda x, n, b: jnp.sort(x),
        lambda x, n, b: jax.jit(lambda a: a @ a.T)(x),
        lambda x, n, b: lax.round(x, lax.RoundingMethod.AWAY_FROM_ZERO),
        lambda x, n, b: lax.select_n(n, x, x, x),
        lambda x, n, b: lax.while_loop(lambda a: a.sum() < 100, lambda a: a + 1, x),
    ],
)
def test_what_numpy_would_do_differently_is_refused(function):
    program, _ = trace(function, (X, N, B))
    with pytest.raises(NotInNumPy):
        NumPyProgram(program)


def test_arguments_that_are_results_keep_their_dtype_and_are_not_changed():
    wide = np.arange(5, dtype=np.int64)
    program, _ = trace(lambda x, y: (y, x * 2, y + 1), (X, wide))
    before = X.copy()
    passed, doubled, more = NumPyProgram(program)((X, wide))
    assert passed is wide
    assert more.dtype == np.int32
    np.testing.assert_array_equal(X, before)
    np.testing.assert_array_equal(doubled, X * 2)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x: x // 3, False),
        (lambda x: jnp.mod(x, -3), False),
        (lambda x: jnp.where(x % 5 > 2, x, x // 7), False),
        (lambda x: x / 0, False),
        (lambda x: jnp.sin(x) // x, False),
        (lambda x: jnp.floor_divide(x, 0), True),
        (lambda x: 6 // x, True),
        (lambda x: jnp.remainder(6, jax.nn.relu(x)), True),
        (lambda x: jax.lax.cond(x > 0, lambda: 6 % x, lambda: x), True),
        (lambda x: jax.jit(lambda a, b: a // b)(x, 2), False),
    ],
)
def test_a_program_that_may_divide_an_integer_by_zero_is_found(function, expected):
    program, _ = trace(function, [np.arange(4)])
    assert divides_integers(program) is expected
