"""Sums over outer dimensions are lowered for CPUs into products where their operand is in memory, and are the same."""

import jax
import jax.numpy as jnp
import jaxlib
import numpy as np
import pytest

import stratax as sx
from stratax.core.cpu import _sums
from stratax.startup import xla_flags

pytestmark = [pytest.mark.exact, pytest.mark.skipif(jax.default_backend() != "cpu", reason="only on CPUs")]

SHAPE = (20, 12, 12, 32)
OUTER = (0, 1, 2)


@pytest.fixture(autouse=True)
def _products_from_a_small_size(request, monkeypatch):
    """Arrays of tests are small; the sizes that count are those of jaxlibs whose library does not sum."""
    if "library" not in request.function.__name__:
        monkeypatch.setattr(_sums, "_MIN_SIZE_BESIDE_LIBRARY", _sums._MIN_SIZE)


def _values(*shape):
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def _is_product(function, *operands):
    assert sx.core
    text = jax.jit(function).lower(*operands).as_text()
    return "stablehlo.dot_general" in text


@pytest.mark.parametrize(
    ("shape", "axes"), [(SHAPE, OUTER), (SHAPE, (0, 1)), ((64, 32, 8), (0, 1)), ((3, 700, 2, 8), (0, 1))]
)
def test_a_sum_over_outer_dimensions_is_a_product_with_ones(shape, axes):
    x = _values(*shape)
    assert _is_product(lambda x: x.sum(axes), x)
    ours = np.asarray(jax.jit(lambda x: x.sum(axes))(x), np.float64)
    assert ours.shape == x.sum(axes).shape
    expected = x.astype(np.float64).sum(axes)
    one_by_one = np.abs(x.sum(axes) - expected).max()
    assert np.abs(ours - expected).max() <= one_by_one


@pytest.mark.parametrize(
    ("shape", "axes", "dtype"),
    [
        (SHAPE, (0,), np.float32),
        (SHAPE, (1, 2), np.float32),
        (SHAPE, (3,), np.float32),
        (SHAPE, (0, 1, 2, 3), np.float32),
        (SHAPE, OUTER, np.int32),
        ((8, 8, 32), (0, 1), np.float32),
        ((200, 200, 4), (0, 1), np.float32),
        ((1031, 2, 16), (0, 1), np.float32),
    ],
    ids=["one dimension", "inner", "last", "all", "integers", "small", "few columns", "no parts"],
)
def test_other_sums_are_left_to_xla(shape, axes, dtype):
    x = np.ones(shape, dtype)
    assert not _is_product(lambda x: x.sum(axes), x)
    np.testing.assert_array_equal(jax.jit(lambda x: x.sum(axes))(x), x.sum(axes))


def test_what_is_computed_from_an_array_in_memory_is_a_product_too():
    x = _values(*SHAPE)
    assert _is_product(lambda x, y: jnp.where(x > 0, y * 2, 0.0).sum(OUTER), x, x)
    assert _is_product(lambda x: (x - x[0, 0, 0]).sum(OUTER), x)


def test_what_exists_only_in_the_formula_is_never_put_into_memory():
    points = _values(300, 64)
    indices = np.zeros((50, 128), np.int32)
    assert not _is_product(lambda p: jnp.abs(p[:, None] - p[None]).sum((0, 1)), points)
    assert not _is_product(lambda p, i: p[i].sum((0, 1)), points, indices)
    assert not _is_product(lambda p: jnp.pad(p[None], ((0, 63), (0, 0), (0, 0))).sum((0, 1)), points)
    assert not _is_product(lambda: jnp.ones((50, 128, 64)).sum((0, 1)))


def test_inside_of_another_function_an_operands_origin_is_unknown_and_the_sum_left_alone():
    x = _values(*SHAPE)
    assert not _is_product(lambda x: jax.jit(lambda y: y.sum(OUTER))(x * 2), x)


@pytest.mark.parametrize("precision", ["bfloat16", "BF16_BF16_F32"])
def test_a_sum_is_as_exact_where_products_are_wanted_quick_and_rough(precision):
    x = _values(*SHAPE)
    with jax.default_matmul_precision(precision):
        assert _is_product(lambda x: x.sum(OUTER), x)
        ours = np.asarray(jax.jit(lambda x: x.sum(OUTER))(x), np.float64)
    expected = x.astype(np.float64).sum(OUTER)
    assert np.abs(ours - expected).max() <= np.abs(x.sum(OUTER) - expected).max()


def test_values_that_are_no_numbers_stay_what_they_are():
    x = _values(*SHAPE)
    x[0, 0, 0, 0], x[1, 1, 1, 1], x[2, 2, 2, 2] = np.nan, np.inf, -np.inf
    ours = jax.jit(lambda x: x.sum(OUTER))(x)
    assert np.isnan(ours[0])
    assert ours[1] == np.inf
    assert ours[2] == -np.inf
    assert np.isfinite(ours[3:]).all()


def test_gradients_and_mapped_functions_are_the_same():
    x = _values(*SHAPE)
    weights = _values(32)
    gradient = jax.jit(jax.grad(lambda x: (x.sum(OUTER) * weights).sum()))(x)
    np.testing.assert_allclose(gradient, np.broadcast_to(weights, SHAPE), rtol=1e-6)
    mapped = jax.jit(jax.vmap(lambda x: x.sum((0, 1))))(x)
    np.testing.assert_allclose(mapped, x.sum((1, 2)), rtol=0, atol=1e-3)


@pytest.mark.parametrize("strategy", ["mirrored", "default"])
def test_a_bias_has_the_same_gradient_on_replicas(strategy):
    strategy = sx.distribute.MirroredStrategy() if strategy == "mirrored" else sx.distribute.get_strategy()
    x = _values(8 * strategy.num_replicas_in_sync, 16, 16, 32)
    with strategy.scope():
        bias = sx.Variable(np.zeros(32, np.float32))

    def step(x):
        with sx.GradientTape() as tape:
            loss = ((x + bias) ** 2).sum()
        return tape.gradient(loss, bias)

    @sx.function
    def total(x):
        return strategy.reduce("SUM", strategy.run(step, (x,)), axis=None)

    dataset = strategy.experimental_distribute_dataset(sx.Dataset.from_tensor_slices(x).batch(len(x)))
    gradient = np.asarray(total(next(iter(dataset))), np.float64)
    expected = 2 * x.astype(np.float64).sum(OUTER)
    np.testing.assert_allclose(gradient, expected, rtol=0, atol=1e-5 * np.abs(x).sum(OUTER).max())


def test_install_is_safe_to_call_again():
    before = jax.jit(lambda x: x.sum(OUTER)).lower(_values(*SHAPE)).as_text()
    _sums.install()
    assert jax.jit(lambda x: x.sum(OUTER)).lower(_values(*SHAPE)).as_text() == before


by_library = pytest.mark.skipif(
    jaxlib.__version__ not in xla_flags.AFFECTED_JAXLIBS, reason="this jaxlib has no such flag"
)


@by_library
def test_a_library_computes_smaller_sums_with_their_formula():
    x = _values(*SHAPE)
    compiled = jax.jit(lambda x: jnp.exp(x).sum(OUTER)).lower(x).compile()
    assert "__ynn_fusion" in compiled.as_text()
    np.testing.assert_allclose(compiled(x), np.exp(x.astype(np.float64)).sum(OUTER), rtol=1e-5)
    assert not _is_product(lambda x: jnp.exp(x).sum(OUTER), x)


@by_library
def test_sums_of_all_pairs_take_no_memory_with_the_library():
    x = _values(1000, 64)
    compiled = jax.jit(lambda x: jnp.abs(x[:, None] - x[None]).sum((0, 1))).lower(x).compile()
    assert compiled.memory_analysis().temp_size_in_bytes < 1 << 20


@by_library
@pytest.mark.parametrize("dtype", [jnp.bfloat16, jnp.float16])
@pytest.mark.parametrize("shape", [(2000, 3), (2000, 4), (2000, 33)])
def test_numbers_of_half_precision_are_not_given_to_the_library(dtype, shape):
    """From bfloat16, the library makes sums of `inf` and `nan`."""
    x = jnp.asarray(_values(*shape) * 4, dtype)
    compiled = jax.jit(lambda x: jnp.exp(x.astype(jnp.float32) / 9).sum(0)).lower(x).compile()
    assert "__ynn_fusion" not in compiled.as_text()
    expected = np.exp(np.asarray(x, np.float64) / 9).sum(0)
    np.testing.assert_allclose(compiled(x), expected, rtol=1e-3)


@by_library
def test_options_of_the_user_stay_with_the_library():
    x = _values(*SHAPE)
    lowered = jax.jit(lambda x: x.sum(OUTER)).lower(x)
    assert "__ynn_fusion" not in lowered.compile({xla_flags.NAME: ""}).as_text()
    assert "__ynn_fusion" in lowered.compile({"xla_cpu_enable_fast_min_max": True}).as_text()


@by_library
@pytest.mark.parametrize("reduce", ["sum", "max", "min", "mean"])
@pytest.mark.parametrize(
    ("shape", "axes"),
    [
        ((2000, 3), 0),
        ((3, 2000), 1),
        ((9, 7, 65), (0, 1)),
        ((9, 7, 65), (0, 2)),
        ((70_000,), 0),
        ((5, 1, 7), 1),
    ],
)
def test_what_the_library_reduces_is_what_numpy_does(reduce, shape, axes):
    x = _values(*shape) * 3
    x.flat[0] = 50
    formulas = [
        (lambda x: x, lambda x: x),
        (lambda x: jnp.exp(x / 9), lambda x: np.exp(x / 9)),
        (lambda x: jnp.where(x > 0, 1 / (x * x + 1), 7.0), lambda x: np.where(x > 0, 1 / (x * x + 1), 7.0)),
        (lambda x: jnp.ones_like(x) * 2, lambda x: np.ones_like(x) * 2),
    ]
    for ours, theirs in formulas:
        found = jax.jit(lambda x, ours=ours: getattr(jnp, reduce)(ours(x), axes))(x)
        expected = getattr(np, reduce)(theirs(x.astype(np.float64)), axes)
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-3)


@by_library
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_the_library_keeps_values_that_are_no_numbers(value):
    x = _values(6, 5, 40)
    x[2, 3, 7] = value
    for reduce in (jnp.sum, jnp.max):
        found = np.asarray(jax.jit(lambda x, reduce=reduce: reduce(x, (0, 1)))(x))
        np.testing.assert_array_equal(np.isfinite(found), np.arange(40) != 7)
