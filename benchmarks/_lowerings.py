"""What Stratax does about XLA's CPU compiler, each against leaving it: tells when a new jaxlib makes it needless."""

import functools
import unittest.mock
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax import lax

import stratax.core
from benchmarks import _measure
from stratax.core.cpu import _convolutions, _pooling, _sums

_FLAG = "xla_cpu_experimental_ynn_fusion_type"
_LIBRARIES = {_FLAG: "LIBRARY_FUSION_TYPE_INDIVIDUAL_DOT,LIBRARY_FUSION_TYPE_INDIVIDUAL_CONVOLUTION"}
_IMAGES = (64, 28, 28, 32)
_SAME = ((0, 0), (0, 1), (0, 1), (0, 0))


def _convolution(x: Any, w: Any, groups: int = 1, strides: int = 1) -> Any:
    return lax.conv_general_dilated(
        x,
        w,
        (strides, strides),
        "VALID",
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
        feature_group_count=groups,
    )


def _depthwise(x: Any, w: Any) -> Any:
    return _convolution(x, w, groups=x.shape[-1])


def _filter_gradient(x: Any, w: Any, groups: int = 1) -> Any:
    convolve = functools.partial(_convolution, x, groups=groups)
    y, pull_back = jax.vjp(convolve, w)
    return pull_back(y)[0]


def _in_loop(x: Any, w: Any) -> Any:
    return lax.fori_loop(0, 2, lambda _, w: w + _filter_gradient(x, w), w)


def _volume(x: Any, w: Any) -> Any:
    return lax.conv_general_dilated(x, w, (1, 1, 1), "SAME", dimension_numbers=("NDHWC", "DHWIO", "NDHWC"))


def _maximum(x: Any) -> Any:
    return lax.reduce_window(x, -np.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), _SAME)


def _sum(x: Any) -> Any:
    return lax.reduce_window(x, 0.0, lax.add, (1, 3, 3, 1), (1, 2, 2, 1), _SAME)


def _gradient_of_maximum(x: Any) -> Any:
    y, pull_back = jax.vjp(_maximum, x)
    return pull_back(y)[0]


def _statistics(x: Any) -> Any:
    return x.sum((0, 1, 2)), (x * x).sum((0, 1, 2))


def _transposed_gradient(x: Any, gradient: Any) -> Any:
    def transposed(kernel: Any) -> Any:
        return lax.conv_transpose(x, kernel, (2, 2), "SAME")

    kernel = jax.ShapeDtypeStruct((3, 3, 32, 32), x.dtype)
    return jax.linear_transpose(transposed, kernel)(gradient)[0]


PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[tuple[int, ...], ...]]] = {
    "depthwise": (_depthwise, (_IMAGES, (3, 3, 1, 32))),
    "depthwise-gradient": (functools.partial(_filter_gradient, groups=32), (_IMAGES, (3, 3, 1, 32))),
    "transposed-gradient": (_transposed_gradient, ((64, 14, 14, 32), _IMAGES)),
    "groups": (functools.partial(_convolution, groups=4), (_IMAGES, (3, 3, 8, 32))),
    "groups-gradient": (functools.partial(_filter_gradient, groups=4), (_IMAGES, (3, 3, 8, 32))),
    "one-pixel-gradient": (_filter_gradient, (_IMAGES, (1, 1, 32, 64))),
    "loop": (_in_loop, (_IMAGES, (3, 3, 32, 32))),
    "volume": (_volume, ((8, 16, 16, 16, 16), (3, 3, 3, 16, 16))),
    "max": (_maximum, (_IMAGES,)),
    "max-gradient": (_gradient_of_maximum, (_IMAGES,)),
    "sum": (_sum, (_IMAGES,)),
    "few-features": (_convolution, ((200, 28, 28, 1), (3, 3, 1, 32))),
    "statistics": (_statistics, (_IMAGES,)),
}


def rewritten(name: str, plan: _measure.Plan) -> _measure.Figure:
    """A program as Stratax has it lowered, against JAX' own lowering."""
    function, operands = _prepared(name)
    ours = jax.jit(function).lower(*operands).compile()
    with (
        unittest.mock.patch.object(_convolutions, "find_rewriting", return_value=None),
        unittest.mock.patch.object(_pooling, "_is_rewritable", return_value=False),
        unittest.mock.patch.object(_sums, "is_rewritable", return_value=False),
    ):
        # A new function: JAX keeps what it has lowered.
        theirs = jax.jit(lambda *operands: function(*operands)).lower(*operands).compile()
    return _compared(ours, theirs, operands, plan, "lowered_by_jax")


def flag(plan: _measure.Plan) -> _measure.Figure:
    """A convolution and its filter gradient with the flag that Stratax adds, against YNNPACK's."""
    function, operands = _filter_gradient, _arrays(((200, 26, 26, 32), (3, 3, 32, 32)))
    ours = jax.jit(function).lower(*operands).compile()
    theirs = jax.jit(lambda *operands: function(*operands)).lower(*operands).compile(_LIBRARIES)
    return _compared(ours, theirs, operands, plan, "ynnpack")


def _prepared(name: str) -> tuple[Callable[..., Any], list[jax.Array]]:
    assert stratax.core
    function, shapes = PROGRAMS[name]
    return function, _arrays(shapes)


def _arrays(shapes: tuple[tuple[int, ...], ...]) -> list[jax.Array]:
    random = np.random.default_rng(0)
    return [jax.device_put(random.standard_normal(shape, np.float32)) for shape in shapes]


def _compared(
    ours: Callable[..., Any],
    theirs: Callable[..., Any],
    operands: list[jax.Array],
    plan: _measure.Plan,
    other: str,
) -> _measure.Figure:
    def repeated(program: Callable[..., Any]) -> _measure.Run:
        def run(count: int) -> None:
            for _ in range(count):
                result = program(*operands)
            jax.block_until_ready(result)

        return run

    seconds = _measure.in_turns(repeated(ours), repeated(theirs), plan=plan)
    return _measure.ratio(*seconds, numerator="stratax", denominator=other)
