"""Convolutions for CPUs are lowered into what is fast there, and compute the same."""

import itertools
import re

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

import stratax as sx
from stratax.core import cpu
from stratax.core.cpu import _convolutions
from tests.stressed import but

pytestmark = [pytest.mark.exact, pytest.mark.skipif(jax.default_backend() != "cpu", reason="only on CPUs")]

NHWC = ("NHWC", "HWIO", "NHWC")
NCHW = ("NCHW", "OIHW", "NCHW")
# The shapes of image and kernel, what their dimensions mean, and options.
CASES = {
    "channels last": (((2, 8, 8, 3), (3, 3, 3, 4)), NHWC, {}),
    "channels first": (((2, 3, 8, 8), (4, 3, 3, 3)), NCHW, {}),
    "mixed": (((2, 3, 8, 8), (3, 3, 3, 4)), ("NCHW", "HWIO", "NHWC"), {}),
    "one dimension": (((2, 9, 3), (3, 3, 4)), ("NHC", "HIO", "NHC"), {}),
    "three dimensions": (((2, 5, 6, 4, 3), (2, 3, 2, 3, 4)), ("NHWDC", "HWDIO", "NHWDC"), {}),
    "groups": (((2, 8, 8, 4), (3, 3, 2, 6)), NHWC, {"feature_group_count": 2}),
    "groups, channels first": (((2, 4, 8, 8), (6, 2, 3, 3)), NCHW, {"feature_group_count": 2}),
    "depthwise": (((2, 8, 9, 4), (3, 2, 1, 4)), NHWC, {"feature_group_count": 4}),
    "depthwise, channels first": (((2, 4, 8, 8), (4, 1, 3, 3)), NCHW, {"feature_group_count": 4}),
    "depthwise, several outputs": (((2, 8, 9, 4), (3, 2, 1, 12)), NHWC, {"feature_group_count": 4}),
    "depthwise, dilated": (
        ((2, 9, 8, 4), (3, 2, 1, 4)),
        NHWC,
        {"feature_group_count": 4, "window_strides": (1, 1), "rhs_dilation": (2, 3)},
    ),
    "depthwise, cropped": (
        ((2, 9, 8, 4), (3, 2, 1, 4)),
        NHWC,
        {"feature_group_count": 4, "padding": ((-1, 2), (0, -2))},
    ),
    "depthwise, one dimension": (((2, 9, 4), (3, 1, 4)), ("NHC", "HIO", "NHC"), {"feature_group_count": 4}),
    "depthwise, transposed": (
        ((2, 5, 5, 4), (3, 3, 1, 4)),
        NHWC,
        {
            "feature_group_count": 4,
            "window_strides": (1, 1),
            "lhs_dilation": (2, 2),
            "padding": ((2, 1), (1, 2)),
        },
    ),
    "three dimensions, dilated": (
        ((2, 7, 5, 4, 3), (3, 2, 2, 3, 4)),
        ("NHWDC", "HWDIO", "NHWDC"),
        {"window_strides": (1, 1, 1), "rhs_dilation": (2, 1, 2)},
    ),
    "three dimensions, channels first": (
        ((2, 3, 5, 6, 4), (4, 3, 3, 2, 2)),
        ("NCHWD", "OIHWD", "NCHWD"),
        {"window_strides": (1, 2, 1), "padding": "VALID"},
    ),
    "few features": (((8, 23, 24, 2), (3, 2, 2, 5)), NHWC, {}),
    "few features, channels first": (((8, 2, 24, 23), (5, 2, 3, 2)), NCHW, {"window_strides": (1, 2)}),
    "one feature, dilated": (
        ((8, 24, 22, 1), (3, 2, 1, 3)),
        NHWC,
        {"window_strides": (2, 1), "padding": ((2, -1), (0, 1)), "rhs_dilation": (2, 3)},
    ),
    "filter gradient of a transposed one": (
        ((3, 4, 5, 2), (8, 7, 2, 4)),
        NHWC,
        {"window_strides": (1, 1), "lhs_dilation": (2, 2), "padding": ((2, 1), (0, 1))},
    ),
    "filter gradient of a transposed one, channels first": (
        ((3, 2, 4, 5), (4, 2, 9, 12)),
        NCHW,
        {"window_strides": (1, 1), "lhs_dilation": (2, 3), "padding": ((2, 3), (1, 0))},
    ),
    "dilated": (((2, 8, 8, 3), (3, 3, 3, 4)), NHWC, {"window_strides": (1, 1), "rhs_dilation": (2, 2)}),
    "one pixel": (((2, 8, 8, 3), (1, 1, 3, 4)), NHWC, {"window_strides": (1, 1)}),
    "one pixel with strides": (((2, 8, 8, 3), (1, 1, 3, 4)), NHWC, {}),
    "one pixel of one": (((2, 1, 1, 3), (1, 1, 3, 4)), NHWC, {"window_strides": (1, 1)}),
    "the whole image": (((2, 5, 4, 3), (5, 4, 3, 4)), NHWC, {"window_strides": (1, 1), "padding": "VALID"}),
}


def _values(*shapes, dtype=np.float32):
    random = np.random.default_rng(0)
    return [random.standard_normal(shape).astype(dtype) for shape in shapes]


def _conv(x, w, dims, **options):
    options = {"window_strides": (2,) * (x.ndim - 2), "padding": "SAME"} | options
    return jax.lax.conv_general_dilated(x, w, dimension_numbers=dims, **options)


def _expected(x, w, dims, options):
    """The convolution, and the gradients of half the sum of its squares, in float64 from the definition."""
    space = "".join(sorted(set(dims[0]) - set("NC"), key=dims[0].index))
    to_last = [dims[0].index(c) for c in f"N{space}C"]
    to_kernel = [dims[1].index(c) for c in f"{space}IO"]
    x, w = np.transpose(x, to_last).astype(np.float64), np.transpose(w, to_kernel).astype(np.float64)
    rank = len(space)
    strides = options.get("window_strides", (2,) * rank)
    spread, dilation = (options.get(name, (1,) * rank) for name in ("lhs_dilation", "rhs_dilation"))
    groups = options.get("feature_group_count", 1)
    reach = [(k - 1) * d + 1 for k, d in zip(w.shape, dilation, strict=False)]
    padding = options.get("padding", "SAME")
    if isinstance(padding, str):
        padding = jax.lax.padtype_to_pads(x.shape[1:-1], reach, strides, padding)
    sizes = [(n - 1) * s + 1 for n, s in zip(x.shape[1:-1], spread, strict=True)]
    out = [(n + sum(p) - r) // s + 1 for n, p, r, s in zip(sizes, padding, reach, strides, strict=True)]
    per_in, per_out = x.shape[-1] // groups, w.shape[-1] // groups
    y = np.zeros((x.shape[0], *out, w.shape[-1]))
    for backward in (False, True):
        dx, dw = np.zeros_like(x), np.zeros_like(w)
        for at in itertools.product(*map(range, out), *map(range, w.shape[:-2])):
            pixel, tap = at[:rank], at[rank:]
            place = [
                p * s + t * d - low
                for p, s, t, d, (low, _) in zip(pixel, strides, tap, dilation, padding, strict=True)
            ]
            if any(
                q % s or not 0 <= q // s < n for q, s, n in zip(place, spread, x.shape[1:-1], strict=True)
            ):
                continue
            source = tuple(q // s for q, s in zip(place, spread, strict=True))
            for g in range(groups):
                ins, outs = slice(g * per_in, (g + 1) * per_in), slice(g * per_out, (g + 1) * per_out)
                image, kernel = x[:, *source, ins], w[*tap, :, outs]
                if backward:
                    towards = y[:, *pixel, outs]
                    dx[:, *source, ins] += towards @ kernel.T
                    dw[*tap, :, outs] += image.T @ towards
                else:
                    y[:, *pixel, outs] += image @ kernel
    y = np.transpose(y, [f"N{space}C".index(c) for c in dims[2]])
    dx = np.transpose(dx, [f"N{space}C".index(c) for c in dims[0]])
    dw = np.transpose(dw, [f"{space}IO".index(c) for c in dims[1]])
    return y, dx, dw


def _with_gradients(dims, options):
    def both(x, w):
        y, pull_back = jax.vjp(lambda x, w: _conv(x, w, dims, **options), x, w)
        return y, *pull_back(y)

    return both


# All that the code does with a dtype is to add up in it and to pad with its zero, in each of these ways once.
OF_HALVES = {
    "channels first",
    "groups",
    "depthwise",
    "depthwise, transposed",
    "three dimensions, dilated",
    "few features",
    "one feature, dilated",
    "filter gradient of a transposed one",
}
TOLERANCES = {"float32": 1e-5, "bfloat16": 4e-2}


@pytest.mark.parametrize(
    ("name", "dtype"),
    but(lambda name, dtype: dtype == "float32" or name in OF_HALVES, itertools.product(CASES, TOLERANCES)),
)
def test_values_and_gradients_are_those_of_the_definition(name, dtype):
    shapes, dims, options = CASES[name]
    tolerance = TOLERANCES[dtype]
    dtype = np.dtype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    x, w = _values(*shapes, dtype=dtype)
    ours = jax.jit(_with_gradients(dims, options))(x, w)
    for one, expected in zip(ours, _expected(x, w, dims, options), strict=True):
        assert (one.dtype, one.shape) == (dtype, expected.shape)
        scale = np.abs(expected).max()
        np.testing.assert_allclose(
            np.asarray(one, np.float64) / scale, expected / scale, rtol=0, atol=tolerance
        )


def _text(function, *args):
    return jax.jit(function).lower(*args).as_text()


def _forms(text):
    return set(re.findall(r"dim_numbers = (\[.*?\]x\[.*?\]->\[.*?\])", text))


def test_gradients_are_in_the_fast_form():
    x, w = _values((2, 3, 8, 8), (4, 3, 3, 3))
    text = _text(_with_gradients(NCHW, {}), x, w)
    assert text.count("stablehlo.convolution") == 3
    assert _forms(text) == {"[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]"}


@pytest.mark.parametrize("name", [name for name in CASES if name.startswith("depthwise")])
def test_depthwise_convolutions_are_sums_beside_the_gradient_of_the_kernel(name):
    shapes, dims, options = CASES[name]
    x, w = _values(*shapes)
    assert "stablehlo.convolution" not in _text(lambda x, w: _conv(x, w, dims, **options), x, w)
    text = _text(_with_gradients(dims, options), x, w)
    assert text.count("stablehlo.convolution") <= 1


def test_groups_are_convolutions_of_their_own():
    shapes, dims, options = CASES["groups"]
    text = _text(_with_gradients(dims, options), *_values(*shapes))
    assert text.count("stablehlo.convolution") == 6
    assert set(re.findall(r"_group_count = (\d+)", text)) == {"1"}


@pytest.mark.parametrize("name", ["one pixel", "the whole image"])
def test_kernels_of_one_pixel_or_the_whole_image_are_products(name):
    shapes, dims, options = CASES[name]
    text = _text(lambda x, w: _conv(x, w, dims, **options), *_values(*shapes))
    assert "stablehlo.dot_general" in text
    assert "stablehlo.convolution" not in text


@pytest.mark.parametrize(
    ("shapes", "options"),
    [
        (((2, 20, 20, 2), (12, 12, 1, 2)), {"feature_group_count": 2}),
        (((2, 4, 4, 66), (3, 3, 2, 66)), {"feature_group_count": 33}),
        (((2, 3, 3, 4), (5, 5, 1, 4)), {"feature_group_count": 4, "padding": "VALID"}),
        (((0, 8, 8, 4), (3, 3, 1, 4)), {"feature_group_count": 4}),
        (((2, 8, 8, 3), (3, 3, 3, 4)), {}),
    ],
    ids=["many taps", "many groups", "no result", "no image", "in the form"],
)
def test_what_is_left_to_xla(shapes, options):
    x, w = _values(*shapes)
    assert "stablehlo.convolution" in _text(lambda x, w: _conv(x, w, NHWC, **options), x, w)


def test_integers_are_left_to_xla():
    x, w = np.ones((1, 4, 4, 2), np.int32), np.ones((3, 3, 1, 2), np.int32)
    function = lambda x, w: _conv(x, w, NHWC, feature_group_count=2)  # noqa: E731
    assert "stablehlo.convolution" in _text(function, x, w)


def test_installing_twice_is_installing_once():
    from jax.interpreters import mlir

    before = mlir._platform_specific_lowerings["cpu"][jax.lax.conv_general_dilated_p]
    cpu.install()
    assert mlir._platform_specific_lowerings["cpu"][jax.lax.conv_general_dilated_p] is before


@pytest.mark.parametrize("options", [{}, {"window_strides": (1, 1), "rhs_dilation": (2, 1)}])
@pytest.mark.parametrize("dims", [NHWC, NCHW], ids=["last", "first"])
def test_depthwise_filter_gradients_are_accumulated_over_images(dims, options):
    shapes = ((3, 9, 8, 4), (3, 2, 1, 4)) if dims == NHWC else ((3, 4, 9, 8), (4, 1, 3, 2))
    x, w = _values(*shapes)
    options = {"feature_group_count": 4} | options

    def gradient(x, w):
        y, pull_back = jax.vjp(lambda w: _conv(x, w, dims, **options), w)
        return pull_back(y)

    assert "stablehlo.convolution" not in _text(gradient, x, w)
    np.testing.assert_allclose(
        jax.jit(gradient)(x, w)[0], _expected(x, w, dims, options)[2], rtol=0, atol=1e-4
    )


def test_depthwise_filter_gradients_of_many_numbers_are_those_of_few(monkeypatch):
    x, w = _values((3, 9, 8, 4), (3, 2, 1, 4))
    options = {"feature_group_count": 4, "window_strides": (2, 1), "rhs_dilation": (1, 2)}

    def gradient(x, w):
        y, pull_back = jax.vjp(lambda w: _conv(x, w, NHWC, **options), w)
        return pull_back(y)[0]

    few = jax.jit(gradient)(x, w)
    monkeypatch.setattr(_convolutions, "_MIN_UNROLLED", 0)
    many = jax.jit(lambda x, w: gradient(x, w))(x, w)
    np.testing.assert_allclose(few, many, rtol=1e-5)
    np.testing.assert_allclose(few, _expected(x, w, NHWC, options)[2], rtol=0, atol=1e-4)


def test_a_convolution_is_compiled_apart_and_once_for_all_that_are_alike():
    x, w = _values((2, 8, 8, 4), (3, 3, 1, 4))

    def twice(x, w):
        y = _conv(x, w, NHWC, feature_group_count=4, window_strides=(1, 1))
        y = _conv(y, w, NHWC, feature_group_count=4, window_strides=(1, 1))
        return y + 1, jnp.maximum(y, 0), y.sum(0)

    lowered = jax.jit(twice).lower(x, w)
    assert lowered.as_text().count("stablehlo.pad") == 1
    compiled = lowered.compile().as_text()
    assert len(re.findall(r" call\(.*inlineable=\"false\"", compiled)) == 2


def test_gradients_of_kernels_of_one_pixel_transpose_nothing():
    x, w = _values((2, 8, 8, 3), (1, 1, 3, 4))
    text = _text(_with_gradients(NHWC, {"window_strides": (1, 1)}), x, w)
    assert text.count("stablehlo.dot_general") == 3
    assert "stablehlo.convolution" not in text
    # That of the product's small result, which is no copy of an image.
    assert "2x8x8" not in "".join(line for line in text.splitlines() if "stablehlo.transpose" in line)


def test_a_depthwise_gradient_that_would_need_much_memory_is_left_to_xla():
    x, w = (
        jax.ShapeDtypeStruct((1, 900, 900, 32), np.float32),
        jax.ShapeDtypeStruct((3, 3, 1, 32), np.float32),
    )

    def gradient(x, w):
        y, pull_back = jax.vjp(lambda w: _conv(x, w, NHWC, window_strides=(1, 1), feature_group_count=32), w)
        return pull_back(y)

    assert "stablehlo.convolution" in _text(gradient, x, w)


def test_convolutions_of_few_features_are_sums_over_taps():
    x, w = _values((8, 24, 24, 3), (3, 3, 3, 4))
    assert "stablehlo.convolution" not in _text(lambda x, w: _conv(x, w, NHWC), x, w)
    more = _values((8, 24, 24, 5), (3, 3, 5, 4))
    assert "stablehlo.convolution" in _text(lambda x, w: _conv(x, w, NHWC), *more)


def test_convolutions_of_inner_functions_loops_and_branches_are_found():
    x, w = _values((2, 3, 8, 8), (3, 3, 3, 3))

    def step(x, w):
        return _conv(x, w, NCHW, window_strides=(1, 1))

    def nested(x, w):
        x, _ = jax.lax.scan(lambda carry, _: (step(carry, w), None), x, length=2)
        x = jax.lax.cond(x.sum() > 0, lambda x: step(x, w), lambda x: x, x)
        return jax.jit(step)(x, w)

    assert _forms(_text(nested, x, w)) == {"[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]"}


@pytest.mark.parametrize("name", ["channels first", "depthwise", "groups", "one pixel"])
@pytest.mark.parametrize("kind", ["Auto", "Explicit"])
def test_operands_divided_over_devices(name, kind):
    shapes, dims, options = CASES[name]
    count = len(jax.devices())
    x, w = _values((count, *shapes[0][1:]), shapes[1])
    mesh = jax.make_mesh((count,), ("replica",), axis_types=(getattr(jax.sharding.AxisType, kind),))
    spec, same = jax.sharding.PartitionSpec("replica"), jax.sharding.PartitionSpec()
    function = _with_gradients(dims, options)
    y, dx, dw = _expected(x, w, dims, options)
    if kind == "Auto":
        mapped = jax.shard_map(
            lambda x, w: (
                *function(x, w)[:2],
                jax.lax.psum(function(x, jax.lax.pcast(w, "replica", to="varying"))[2], "replica"),
            ),
            mesh=mesh,
            in_specs=(spec, same),
            out_specs=(spec, spec, same),
        )
        ours = jax.jit(mapped)(x, w)
    else:
        with jax.set_mesh(mesh):
            given = (
                jax.device_put(x, jax.NamedSharding(mesh, spec)),
                jax.device_put(w, jax.NamedSharding(mesh, same)),
            )
            ours = (jax.jit(lambda x, w: _conv(x, w, dims, **options))(*given),)
    for one, expected in zip(ours, (y, dx, dw), strict=False):
        np.testing.assert_allclose(np.asarray(one), expected, rtol=1e-4, atol=1e-4)


def test_a_compiled_loop_around_replicas_computes_the_same():
    strategy = sx.distribute.MirroredStrategy()
    x, w = _values((len(strategy.devices), 3, 8, 8), (4, 3, 3, 3))
    with strategy.scope():
        kernel = sx.Variable(w)
    (batch,) = strategy.experimental_distribute_dataset([x])

    def replica_step(x):
        def loss_fn():
            return jnp.sum(_conv(x, kernel.value, NCHW) ** 2)

        loss, (gradient,) = sx.value_and_grad(loss_fn, [kernel])()
        return loss, gradient

    @sx.function
    def steps(batch, looped):
        result = strategy.run(replica_step, args=(batch,))
        if looped:
            for _ in sx.range(3):
                result = strategy.run(replica_step, args=(batch,))
        return strategy.reduce("SUM", result, axis=None)

    for ours, expected in zip(steps(batch, True), steps(batch, False), strict=True):
        np.testing.assert_allclose(ours, expected, rtol=1e-4)
