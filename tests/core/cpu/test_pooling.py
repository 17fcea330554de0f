"""Pooling for CPUs is lowered into what is fast there, and computes what XLA computes."""

import itertools

import jax
import ml_dtypes
import numpy as np
import pytest

import stratax  # noqa: F401
from stratax.core import cpu
from stratax.core.cpu import _pooling

pytestmark = pytest.mark.skipif(jax.default_backend() != "cpu", reason="only on CPUs")

# Window, strides and padding.
CASES = {
    "apart": ((1, 2, 2, 1), (1, 2, 2, 1), "VALID"),
    "overlapping": ((1, 3, 3, 1), (1, 2, 2, 1), "SAME"),
    "every pixel": ((1, 3, 3, 1), (1, 1, 1, 1), "SAME"),
    "gaps": ((1, 2, 1, 1), (1, 3, 2, 1), "VALID"),
    "much padding": ((1, 3, 2, 1), (1, 1, 2, 1), ((0, 0), (2, 2), (1, 1), (0, 0))),
}


def _values(shape=(2, 7, 8, 3), dtype=np.float32):
    # Whole numbers of few values: many windows have several largest elements.
    return np.random.default_rng(0).integers(-2, 3, shape).astype(dtype)


def _with_gradient(combine, empty, settings):
    def both(x):
        function = lambda x: jax.lax.reduce_window(x, np.asarray(empty, x.dtype), combine, *settings)  # noqa: E731
        y, pull_back = jax.vjp(function, x)
        return y, pull_back(y * 3 + 1)[0]

    return both


def _both(monkeypatch, make, *args):
    """What is computed here, and by XLA from JAX' own lowering."""
    ours = jax.jit(make())(*args)
    with monkeypatch.context() as patch:
        patch.setattr(_pooling, "_is_rewritable", lambda *_: False)
        return ours, jax.jit(make())(*args)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(("combine", "empty"), [(jax.lax.max, -np.inf), (jax.lax.add, 0)], ids=["max", "sum"])
@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16], ids=["float32", "bfloat16"])
def test_values_and_gradients_are_those_of_xla(name, combine, empty, dtype, monkeypatch):
    make = lambda: _with_gradient(combine, empty, CASES[name])  # noqa: E731
    for ours, expected in zip(*_both(monkeypatch, make, _values(dtype=dtype)), strict=True):
        assert ours.dtype == expected.dtype
        np.testing.assert_array_equal(ours, expected)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("value", [np.nan, -np.inf])
def test_the_gradient_of_a_maximum_beside_nan_and_infinity_is_that_of_xla(name, value, monkeypatch):
    x = _values()
    x[np.random.default_rng(1).random(x.shape) < 0.6] = value
    make = lambda: _with_gradient(jax.lax.max, -np.inf, CASES[name])  # noqa: E731
    for ours, expected in zip(*_both(monkeypatch, make, x), strict=True):
        np.testing.assert_array_equal(ours, expected)


def test_dilated_windows_and_operands(monkeypatch):
    def make():
        return lambda x: jax.lax.reduce_window(
            x,
            np.float32(0),
            jax.lax.add,
            (1, 2, 3, 1),
            (1, 2, 1, 1),
            ((0, 0), (1, 0), (0, 2), (0, 0)),
            base_dilation=(1, 2, 3, 1),
            window_dilation=(1, 3, 2, 1),
        )

    ours, expected = _both(monkeypatch, make, _values())
    np.testing.assert_allclose(ours, expected, rtol=1e-6)


def test_the_maximum_is_that_of_the_definition():
    x = _values()
    y = jax.jit(_with_gradient(jax.lax.max, -np.inf, CASES["apart"]))(x)[0]
    for h, w in itertools.product(range(3), range(4)):
        np.testing.assert_array_equal(y[:, h, w], x[:, 2 * h : 2 * h + 2, 2 * w : 2 * w + 2].max((1, 2)))


@pytest.mark.parametrize("name", CASES)
def test_no_window_is_left_to_xla(name):
    for combine, empty in ((jax.lax.max, -np.inf), (jax.lax.add, 0)):
        text = jax.jit(_with_gradient(combine, empty, CASES[name])).lower(_values()).as_text()
        assert "reduce_window" not in text
        assert "select_and_scatter" not in text


@pytest.mark.parametrize(
    ("shape", "dtype", "window"),
    [((1, 9, 9, 1), np.float32, 6), ((1, 9, 9, 1), np.int32, 2), ((0, 9, 9, 1), np.float32, 2)],
    ids=["large", "integers", "empty"],
)
def test_other_windows_are_left_to_xla(shape, dtype, window):
    function = lambda x: jax.lax.reduce_window(  # noqa: E731
        x, dtype(0), jax.lax.add, (1, window, window, 1), (1, 1, 1, 1), "VALID"
    )
    assert "reduce_window" in jax.jit(function).lower(_values(shape, dtype)).as_text()


def test_replicas_in_a_checked_shard_map():
    count = len(jax.devices())
    mesh = jax.make_mesh((count,), ("replica",), axis_types=(jax.sharding.AxisType.Auto,))
    spec = jax.sharding.PartitionSpec("replica")
    function = _with_gradient(jax.lax.max, -np.inf, CASES["overlapping"])
    x = np.repeat(_values()[:1], count, 0)
    y, dx = jax.jit(jax.shard_map(function, mesh=mesh, in_specs=spec, out_specs=(spec, spec)))(x)
    expected = jax.jit(function)(x[:1])
    np.testing.assert_array_equal(y, np.repeat(expected[0], count, 0))
    np.testing.assert_array_equal(dx, np.repeat(expected[1], count, 0))


def test_installing_twice_is_installing_once():
    from jax.extend.core import primitives
    from jax.interpreters import mlir

    before = mlir._platform_specific_lowerings["cpu"][primitives.select_and_scatter_add_p]
    cpu.install()
    assert mlir._platform_specific_lowerings["cpu"][primitives.select_and_scatter_add_p] is before
