"""Convolutions written so that XLA computes them fast on CPUs (core layer).

XLA's CPU compiler has one fast routine, for one form of convolution: batch and features outermost and innermost, no
groups. It brings convolutions into that form where they stand in the program itself, not in the body of a loop or the
branch of a condition, and computes groups with naive loops. Measured on 2 cores with jaxlib 0.10.2, milliseconds of
processor time before and after, 64 images of 28x28x32 by kernels of 3x3:

- a filter gradient in a loop, 54 and 2 (200 images of 13x13x16, strides of 2): transposed into the form;
- depthwise, forward 82 and 1, with strides 62 and 1, gradient of the input 102 and 1: a sum over the kernel's taps;
- 4 groups, forward 21 and 11, filter gradient 942 and 9: one convolution for each group;
- three dimensions (8 volumes of 16x16x16x16), forward 34 and 7, filter gradient 37 and 10: a sum over its planes;
- kernels of 1x1 to 64 features, filter gradient 6 and 3: a matrix product;
- one feature to 32 (200 images of 28x28), forward 7 and 1, three to 32 (64 images of 32x32) 4.5 and 2: a sum over
  the kernel's taps;
- filter gradient of a transposed convolution with strides of 2 (64 images of 14x14x32), 98 and 6: the operands' roles
  exchanged, so that the kernel is dilated and not the image;
- depthwise filter gradient, 64x28x28x64 65 and 8, 32x56x56x128 410 and 34: image by image, summed over pixels at the
  end (sums over images and pixels of products take 37 where XLA's loops take 10).

What is written here is compiled apart (`lower_apart`): XLA would copy a sum of nine taps into all that uses it,
and compile each copy. A depthwise gradient of few numbers is a loop over taps, whose body is compiled once.

XLA's own routine stays for the filter gradient of 200 images of 26x26x32, 44: ten images at a time, or products of
patches, took as long or longer.
"""

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jax import lax
from jax.interpreters import mlir

from stratax.core.cpu._runs import is_worth
from stratax.seams.jax import lower_apart

_PRIMITIVE = jax.lax.conv_general_dilated_p
_FORM = jax.lax.ConvDimensionNumbers

# More would make the program long: the fully unrolled sum has an operation or two for each tap, and so have the groups.
_MAX_TAPS = 128
_MAX_GROUPS = 32
_MAX_PLANES = 32
# Numbers that a depthwise gradient keeps while it goes through the images: 64 MiB of float32.
_MAX_SUMS = 1 << 24
# With fewer numbers, a depthwise gradient is a loop over its taps: it takes up to a millisecond longer to compute, and
# a fifth of a second less to compile.
_MIN_UNROLLED = 1 << 20
# With more features than these, XLA's own routine is as fast: 3x3x8 taps take 3.4 ms there and 6.3 as a sum.
_MAX_THIN_TAPS = 36
_MAX_THIN_FEATURES = 4
# Of fewer pixels in all images, the sum is a long program and no faster.
_MIN_THIN_PIXELS = 1 << 12

# In the place of any number of examples, where it is to be decided how they are computed.
_MANY = 64

# How many products of the fast routine take the time of one in the loops for groups, 6 to 10 nanoseconds.
_NAIVE = 64

# Batch, three dimensions of space, features.
_VOLUME = 5


def lower(
    name: str,
    given: Callable[..., Any],
    ctx: mlir.LoweringRuleContext,
    lhs: object,
    rhs: object,
    **params: Any,
) -> Any:
    """Lower a convolution for CPUs as `find_rewriting` says, or as JAX does.

    Args:
        name: The primitive's name.
        given: JAX' own lowering.
        ctx: Of the program.
        lhs: The operand.
        rhs: The filter.
        **params: The primitive's parameters.
    """
    left: Any = ctx.avals_in[0]
    right: Any = ctx.avals_in[1]
    # Only where the first dimension is that of the examples: in gradients it is another.
    is_plain = params["dimension_numbers"].lhs_spec[0] == 0 and params["batch_group_count"] == 1
    function = find_rewriting(of_many(left) if is_plain else left, right, params)
    if function is None or not is_worth(_cost(ctx.avals_out[0], right, params)):
        return given(ctx, lhs, rhs, **params)
    # Without the mesh axes over which operands vary or are divided: constants beside them would have to match.
    plain = [jax.core.ShapedArray(operand.shape, operand.dtype) for operand in (left, right)]
    within = ctx.replace(avals_in=plain)
    if function.func is _product:
        return mlir.lower_fun(function, multiple_results=False)(within, lhs, rhs)
    return lower_apart(within, function, lhs, rhs)


def _cost(result: Any, rhs: Any, params: dict[str, Any]) -> int:
    """Return how many products XLA's fast routine would compute while XLA by itself computes a convolution."""
    form = params["dimension_numbers"]
    # Any number of examples counts as many.
    sizes = [size if isinstance(size, int | np.integer) else _MANY for size in result.shape]
    products = math.prod(sizes) * math.prod(rhs.shape[axis] for axis in form.rhs_spec[1:])
    is_naive = params["feature_group_count"] > 1 or params["batch_group_count"] > 1
    return products * _NAIVE if is_naive else products


def of_many(aval: Any) -> Any:
    """Return the type of an operand; of one with any number of examples, that of many: what is chosen fits all.

    Args:
        aval: Its shape and dtype.
    """
    if not aval.shape or isinstance(aval.shape[0], int | np.integer):
        return aval
    return jax.core.ShapedArray((_MANY, *aval.shape[1:]), aval.dtype)


def find_rewriting(lhs: Any, rhs: Any, params: dict[str, Any]) -> Any:
    """Find what computes a convolution faster on a CPU.

    Args:
        lhs: The shape and dtype of the left operand.
        rhs: Those of the right one.
        params: The parameters of the primitive.

    Returns:
        A function of the two operands that returns the convolution's result; None where XLA does as well by itself.
    """
    if not _is_rewritable(lhs, rhs, params):
        return None
    form = _form(lhs.ndim)
    if _is_dilated_gradient(lhs, rhs, params):
        return functools.partial(_compute_swapped, params=params)
    if _is_depthwise_gradient(lhs, rhs, params):
        return functools.partial(_compute_accumulated, params=params)
    if _is_product(lhs, rhs, params):
        return functools.partial(_product, params=params)
    if params["dimension_numbers"] != form:
        return functools.partial(_compute_transposed, params=params, form=form)
    plain = {**params, "out_sharding": None}
    groups, batch_groups = params["feature_group_count"], params["batch_group_count"]
    if _has_few_taps(lhs, rhs, groups, batch_groups):
        if min(_spans(lhs.shape, rhs.shape, params)) < 1:
            return None
        return functools.partial(_sum_over_taps, params=plain)
    if 1 < groups <= _MAX_GROUPS:
        return functools.partial(_by_feature_group, params=plain)
    if 1 < batch_groups <= _MAX_GROUPS and batch_groups < lhs.shape[0]:
        return functools.partial(_by_batch_group, params=plain)
    is_volume = groups == batch_groups == 1 and lhs.ndim == _VOLUME and rhs.shape[0] <= _MAX_PLANES
    if is_volume and min(_spans(lhs.shape, rhs.shape, params)) >= 1:
        return functools.partial(_sum_over_planes, params=plain)
    return None


def _has_few_taps(lhs: Any, rhs: Any, groups: int, batch_groups: int) -> bool:
    """Return whether the convolution is depthwise, or of few features, with a small kernel."""
    taps = math.prod(rhs.shape[:-1])
    if groups > 1:
        return groups in (lhs.shape[-1], rhs.shape[-1]) and taps <= _MAX_TAPS
    is_thin = lhs.shape[-1] <= _MAX_THIN_FEATURES and math.prod(lhs.shape[:-1]) >= _MIN_THIN_PIXELS
    return is_thin and batch_groups == 1 and math.prod(rhs.shape[:-2]) > 1 and taps <= _MAX_THIN_TAPS


def _is_depthwise_gradient(lhs: Any, rhs: Any, params: dict[str, Any]) -> bool:
    """Return whether it is the filter gradient of a depthwise convolution with one output for each feature."""
    form, groups = params["dimension_numbers"], params["batch_group_count"]
    features = (lhs.shape[form.lhs_spec[0]], rhs.shape[form.rhs_spec[0]])
    if groups == 1 or features != (groups, groups) or set(params["lhs_dilation"]) != {1}:
        return False
    taps = math.prod(_num_taps(lhs, rhs, params))
    sums = taps * math.prod(rhs.shape[axis] for axis in form.rhs_spec[2:]) * groups
    return 0 < taps <= _MAX_TAPS and sums <= _MAX_SUMS


def _is_dilated_gradient(lhs: object, rhs: Any, params: dict[str, Any]) -> bool:
    """Return whether it is the filter gradient of a transposed convolution: a large kernel over a dilated image."""
    plain = (params["window_strides"], params["rhs_dilation"])
    if set(params["lhs_dilation"]) == {1} or any(set(setting) != {1} for setting in plain):
        return False
    if params["feature_group_count"] != 1 or params["batch_group_count"] != 1:
        return False
    taps, kernel = (
        _num_taps(lhs, rhs, params),
        [rhs.shape[axis] for axis in params["dimension_numbers"].rhs_spec[2:]],
    )
    return min(taps) > 0 and all(size < window for size, window in zip(taps, kernel, strict=True))


def _compute_swapped(lhs: Any, rhs: Any, params: dict[str, Any]) -> Any:
    """Compute the convolution with its operands' roles exchanged.

    With a step of d, the sum over i of `lhs[(t + i - low) / d] * rhs[i]` is that over j of
    `lhs[j] * rhs[d * j + low - t]`: the image is the kernel then, dilated, and the result comes backwards.
    """
    form, steps = params["dimension_numbers"], params["lhs_dilation"]
    taps = _num_taps(lhs, rhs, params)
    space = zip(taps, steps, params["padding"], form.lhs_spec[2:], form.rhs_spec[2:], strict=True)
    padding = []
    for size, step, (low, _), image, kernel in space:
        before = size - 1 - low
        padding.append((before, size + step * (lhs.shape[image] - 1) - rhs.shape[kernel] - before))
    exchanged = _FORM(form.rhs_spec, form.lhs_spec, (form.out_spec[1], form.out_spec[0], *form.out_spec[2:]))
    ones = (1,) * len(taps)
    result = _PRIMITIVE.bind(
        rhs,
        lhs,
        **{
            **params,
            "dimension_numbers": exchanged,
            "padding": tuple(padding),
            "lhs_dilation": ones,
            "rhs_dilation": steps,
            "out_sharding": None,
        },
    )
    return lax.rev(result, form.out_spec[2:])


def _num_taps(lhs: Any, rhs: Any, params: dict[str, Any]) -> list[int]:
    """Return the size of a filter gradient's result in each dimension of space."""
    form = params["dimension_numbers"]
    names = ("padding", "window_strides", "lhs_dilation", "rhs_dilation")
    settings = zip(form.lhs_spec[2:], form.rhs_spec[2:], *(params[name] for name in names), strict=True)
    return [
        max(
            0,
            ((lhs.shape[image] - 1) * apart + sum(padding) - (rhs.shape[gradient] - 1) * spread) // step + 1,
        )
        for image, gradient, padding, step, apart, spread in settings
    ]


def _is_rewritable(lhs: Any, rhs: Any, params: dict[str, Any]) -> bool:
    """Return whether shapes are static, numbers are floating-point, and the result was not asked for in parts."""
    sharding = params.get("out_sharding")
    if sharding is not None and any(part is not None for part in sharding.spec):
        return False
    numbers = [*lhs.shape, *rhs.shape, *itertools.chain.from_iterable(params["padding"])]
    is_static = all(isinstance(number, int | np.integer) for number in numbers)
    is_real = all(jax.dtypes.issubdtype(one.dtype, np.floating) for one in (lhs, rhs))
    return is_static and is_real and 0 not in (*lhs.shape, *rhs.shape) and lhs.ndim > 2


def _form(dimensions: int) -> _FORM:
    """Return the form of a convolution: batch, space, features; kernels: space, features in, features out."""
    last = dimensions - 1
    outer = (0, last, *range(1, last))
    return _FORM(outer, (last, last - 1, *range(last - 1)), outer)


def _compute_transposed(lhs: Any, rhs: Any, params: dict[str, Any], form: _FORM) -> Any:
    """Compute the convolution in the fast form."""
    given = params["dimension_numbers"]
    lhs = lax.transpose(lhs, _permutation(given.lhs_spec, form.lhs_spec))
    rhs = lax.transpose(rhs, _permutation(given.rhs_spec, form.rhs_spec))
    result = _PRIMITIVE.bind(lhs, rhs, **{**params, "dimension_numbers": form, "out_sharding": None})
    return lax.transpose(result, _permutation(form.out_spec, given.out_spec))


def _compute_accumulated(lhs: Any, rhs: Any, params: dict[str, Any]) -> Any:
    """Compute a depthwise filter gradient: the sum over pixels comes last, over sums that are small."""
    form, result_type = params["dimension_numbers"], params["preferred_element_type"] or lhs.dtype
    # Sums of half precision are kept in float32.
    sums = np.promote_types(result_type, np.float32)
    taps = _num_taps(lhs, rhs, params)
    # Images, space, features. In a gradient, what the images are summed over is called the features.
    images = lax.transpose(lhs, (form.lhs_spec[1], *form.lhs_spec[2:], form.lhs_spec[0]))
    gradients = lax.transpose(rhs, (form.rhs_spec[1], *form.rhs_spec[2:], form.rhs_spec[0]))
    space = [(low, high, 0) for low, high in params["padding"]]
    images = lax.pad(images, np.zeros((), images.dtype), [(0, 0, 0), *space, (0, 0, 0)])
    accumulate = _tap_by_tap if gradients.size < _MIN_UNROLLED else _image_by_image
    result = accumulate(images, gradients, taps, params, sums).reshape(1, *taps, -1).astype(result_type)
    return lax.transpose(result, _permutation((0, len(taps) + 1, *range(1, len(taps) + 1)), form.out_spec))


def _tap_by_tap(images: Any, gradients: Any, taps: list[int], params: dict[str, Any], sums: Any) -> Any:
    """Sum over images and pixels, each tap with the same operations: there is little to compile."""
    steps, spread = params["window_strides"], params["rhs_dilation"]
    spans = [(size - 1) * apart + 1 for size, apart in zip(gradients.shape[1:-1], spread, strict=True)]

    def add(number: Any, totals: Any) -> Any:
        starts = [place * np.uint32(step) for place, step in zip(_tap(number, taps), steps, strict=True)]
        zero = np.uint32(0)
        part = lax.dynamic_slice(images, (zero, *starts, zero), (len(images), *spans, images.shape[-1]))
        part = lax.slice(part, [0] * part.ndim, part.shape, (1, *spread, 1))
        total = (part.astype(sums) * gradients.astype(sums)).sum(0)
        return lax.dynamic_update_index_in_dim(totals, total, number, 0)

    count = np.uint32(math.prod(taps))
    totals = lax.fori_loop(np.uint32(0), count, add, jax.numpy.zeros((count, *gradients.shape[1:]), sums))
    return totals.reshape(count, -1, gradients.shape[-1]).sum(1)


def _tap(number: Any, taps: list[int]) -> list[Any]:
    """Return the place of a tap with a number below `_MAX_TAPS`, without division: XLA compiles each by itself."""
    places: list[Any] = []
    for size in reversed(taps):
        quotient = (number * np.uint32(-(-(1 << 16) // size))) >> np.uint32(16)
        places.append(number - quotient * np.uint32(size))
        number = quotient
    return places[::-1]


def _image_by_image(images: Any, gradients: Any, taps: list[int], params: dict[str, Any], sums: Any) -> Any:
    """Add each image to the sums of all taps while it is in the processor's caches."""
    steps, spread, one = params["window_strides"], params["rhs_dilation"], gradients.shape[1:]

    def add(totals: Any, pair: tuple[Any, Any]) -> tuple[Any, None]:
        image, gradient = (array.astype(sums) for array in pair)
        added = []
        for total, tap in zip(totals, itertools.product(*map(range, taps)), strict=True):
            starts = [place * step for place, step in zip(tap, steps, strict=True)]
            ends = [
                start + (size - 1) * apart + 1
                for start, size, apart in zip(starts, one[:-1], spread, strict=True)
            ]
            part = lax.slice(image, (*starts, 0), (*ends, one[-1]), (*spread, 1))
            added.append(total + part * gradient)
        return added, None

    totals, _ = lax.scan(add, [jax.numpy.zeros(one, sums)] * math.prod(taps), (images, gradients))
    stacked = jax.numpy.stack(totals).reshape(len(totals), -1, one[-1])
    ones = jax.numpy.ones((len(totals), 1, stacked.shape[1]), sums)
    product = (((2,), (1,)), ((0,), (0,)))
    return lax.dot_general(ones, stacked, product, precision=lax.Precision.HIGHEST)


def _permutation(given: Sequence[int], wanted: Sequence[int]) -> tuple[int, ...]:
    """Return how to transpose an array whose dimensions mean `given` into one whose dimensions mean `wanted`."""
    permutation = [0] * len(given)
    for source, target in zip(given, wanted, strict=True):
        permutation[target] = source
    return tuple(permutation)


def _spans(lhs: Sequence[int], rhs: Sequence[int], params: dict[str, Any]) -> list[int]:
    """Return how much of the padded input each tap falls on, from the first pixel to the last; less than 1: nothing."""
    names = ("padding", "window_strides", "lhs_dilation", "rhs_dilation")
    settings = zip(lhs[1:-1], rhs[:-2], *(params[name] for name in names), strict=True)
    return [
        ((size - 1) * spread + sum(padding) - (taps - 1) * dilation) // stride * stride + 1
        for size, taps, padding, stride, spread, dilation in settings
    ]


def _sum_over_taps(lhs: Any, rhs: Any, params: dict[str, Any]) -> Any:
    """Sum each tap of the kernel times the part of the input that it falls on, of groups or of a few features."""
    result_type = params["preferred_element_type"] or lhs.dtype
    # Sums of half precision are kept in float32, as XLA's own routine does.
    sums = np.promote_types(result_type, np.float32)
    lhs, rhs = lhs.astype(sums), rhs.astype(sums)
    strides, dilation = params["window_strides"], params["rhs_dilation"]
    spans = _spans(lhs.shape, rhs.shape, params)
    space = [
        (low, high, step - 1)
        for (low, high), step in zip(params["padding"], params["lhs_dilation"], strict=True)
    ]
    lhs = lax.pad(lhs, np.zeros((), sums), [(0, 0, 0), *space, (0, 0, 0)])
    groups, features = params["feature_group_count"], rhs.shape[-1]
    inputs = [lhs[..., start :: rhs.shape[-2]] for start in range(rhs.shape[-2])]
    if 1 < groups < features:
        inputs = [jax.numpy.repeat(one, features // groups, axis=-1) for one in inputs]
    total: Any = None
    for tap in itertools.product(*map(range, rhs.shape[:-2])):
        starts = [place * step for place, step in zip(tap, dilation, strict=True)]
        ends = [start + span for start, span in zip(starts, spans, strict=True)]
        for number, one in enumerate(inputs):
            part = lax.slice(one, (0, *starts, 0), (one.shape[0], *ends, one.shape[-1]), (1, *strides, 1))
            product = part * rhs[(*tap, number)]
            total = product if total is None else total + product
    return total.astype(result_type)


def _sum_over_planes(lhs: Any, rhs: Any, params: dict[str, Any]) -> Any:
    """Compute a three-dimensional convolution: for each plane of the kernel, one in two dimensions."""
    stride, step = params["window_strides"][0], params["rhs_dilation"][0]
    span = _spans(lhs.shape, rhs.shape, params)[0]
    depth = (*params["padding"][0], params["lhs_dilation"][0] - 1)
    lhs = lax.pad(lhs, np.zeros((), lhs.dtype), [(0, 0, 0), depth, *[(0, 0, 0)] * 3])
    names = ("window_strides", "padding", "lhs_dilation", "rhs_dilation")
    flat = {**params, **{name: params[name][1:] for name in names}, "dimension_numbers": _form(_VOLUME - 1)}
    result_type = params["preferred_element_type"] or lhs.dtype
    # Sums of half precision are kept in float32.
    flat["preferred_element_type"] = np.promote_types(result_type, np.float32)
    total: Any = None
    for number in range(rhs.shape[0]):
        planes = lax.slice_in_dim(lhs, number * step, number * step + span, stride, axis=1)
        images = planes.reshape(-1, *planes.shape[2:])
        part = _PRIMITIVE.bind(images, rhs[number], **flat)
        total = part if total is None else total + part
    return total.reshape(lhs.shape[0], -1, *total.shape[1:]).astype(result_type)


def _by_feature_group(lhs: Any, rhs: Any, params: dict[str, Any]) -> Any:
    """Compute one convolution for each group of features."""
    count = params["feature_group_count"]
    lefts, rights = _split(lhs, count, lhs.ndim - 1), _split(rhs, count, rhs.ndim - 1)
    return _side_by_side(lefts, rights, {**params, "feature_group_count": 1})


def _by_batch_group(lhs: Any, rhs: Any, params: dict[str, Any]) -> Any:
    """Compute one convolution for each part of the batch, with its part of the kernel's features."""
    count = params["batch_group_count"]
    lefts, rights = _split(lhs, count, 0), _split(rhs, count, rhs.ndim - 1)
    return _side_by_side(lefts, rights, {**params, "batch_group_count": 1})


def _split(array: Any, count: int, axis: int) -> list[Any]:
    size = array.shape[axis] // count
    return [lax.slice_in_dim(array, start, start + size, axis=axis) for start in range(0, count * size, size)]


def _side_by_side(lefts: list[Any], rights: list[Any], params: dict[str, Any]) -> Any:
    parts = [_PRIMITIVE.bind(left, right, **params) for left, right in zip(lefts, rights, strict=True)]
    return lax.concatenate(parts, parts[0].ndim - 1)


def _is_product(lhs: object, rhs: object, params: dict[str, Any]) -> bool:
    """Return whether the kernel is one pixel, or covers the whole input once (its gradient)."""
    if params["feature_group_count"] != 1 or params["batch_group_count"] != 1:
        return False
    form = params["dimension_numbers"]
    space, kernel = _space(lhs, form.lhs_spec), _space(rhs, form.rhs_spec)
    is_plain = all(
        number == 1 for name in ("window_strides", "lhs_dilation", "rhs_dilation") for number in params[name]
    ) and not any(itertools.chain.from_iterable(params["padding"]))
    return is_plain and (set(kernel) == {1} or kernel == space)


def _space(array: Any, spec: Sequence[int]) -> list[int]:
    return [array.shape[axis] for axis in spec[2:]]


def _product(lhs: Any, rhs: Any, params: dict[str, Any]) -> Any:
    """Compute a product of matrices, which are the operands as they lie in memory wherever that is possible."""
    form = params["dimension_numbers"]
    pairs = [(form.lhs_spec[1], form.rhs_spec[1])]
    if set(_space(rhs, form.rhs_spec)) != {1}:
        pairs += zip(form.lhs_spec[2:], form.rhs_spec[2:], strict=True)
    pairs.sort()
    kept = [axis for axis in range(lhs.ndim) if axis not in dict(pairs)]
    left, left_axis = _matrix(lhs, [axis for axis, _ in pairs])
    right, right_axis = _matrix(rhs, [axis for _, axis in pairs])
    result = lax.dot_general(
        left,
        right,
        (((left_axis,), (right_axis,)), ((), ())),
        precision=params["precision"],
        preferred_element_type=params["preferred_element_type"],
    )
    # What the dimensions mean: 0 the examples, 1 features, then space.
    meanings = [*(form.lhs_spec.index(axis) for axis in kept), 1]
    result = result.reshape(*(lhs.shape[axis] for axis in kept), -1)
    wanted = sorted(range(lhs.ndim), key=lambda meaning: form.out_spec[meaning])
    result = lax.transpose(result, [meanings.index(meaning) for meaning in wanted if meaning in meanings])
    sizes = iter(result.shape)
    return result.reshape([next(sizes) if meaning in meanings else 1 for meaning in wanted])


def _matrix(array: Any, contracted: list[int]) -> tuple[Any, int]:
    """Return an array as a matrix, and which of its two dimensions is contracted."""
    kept = [axis for axis in range(array.ndim) if axis not in contracted]
    size = math.prod(array.shape[axis] for axis in contracted)
    in_order = [axis for axis in (*contracted, *kept) if array.shape[axis] != 1]
    if in_order == sorted(in_order):
        return array.reshape(size, -1), 0
    return lax.transpose(array, [*kept, *contracted]).reshape(-1, size), 1
