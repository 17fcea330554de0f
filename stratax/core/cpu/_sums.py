"""Sums over the outer dimensions written so that XLA computes them fast on CPUs (core layer).

XLA's CPU compiler does not vectorise a sum over several outer dimensions, which is what the gradients of biases and the
statistics of a batch are (over one it does). Products with rows of ones are the same sum: each of up to 1,024 rows of
numbers, which are summed then, so that the result is more exact than one after another. Measured on 2 cores with jaxlib
0.10.2, milliseconds of processor time before and after: 200x24x24x32 4.4 and 0.3, 64x14x14x256 8.6 and 0.7, 64x128x256
1.5 and 0.2; the error of a sum of positive numbers, in parts of it, 2e-6 and 1e-7 for the first of these.

With jaxlib 0.10.2, YNNPACK does the same for all sums and maxima of a program without numbers of half precision, and
needs no operand in memory. Products remain for large sums, which they compute in half of its time: the backward pass of
a batch normalization of 64x28x28x64 takes 4.2 ms with products, 6.1 with YNNPACK and 13.3 with XLA's loops.

A product needs its operand in memory, where a sum would have been computed together with what it sums. That is as good
where an array of this size is in memory anyway, and fatal where it exists only in the formula, as in a sum over
differences of all pairs: so the operand's origin is looked at.
"""

import functools
import math
import re
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.extend import core as jax_core
from jax.interpreters import mlir

from stratax.seams.jax import choose_options, lower_apart, lowering_for_cpus
from stratax.startup import xla_flags

# Smaller sums are done before a product has begun; with fewer columns XLA's own loops are as fast.
_MIN_SIZE = 1 << 14
# Where YNNPACK sums, a product takes 50 milliseconds longer to compile. Of 1 << 18 numbers it saves 20 microseconds of
# 35: a network with forty such sums would have to train for a thousand steps and more.
_MIN_SIZE_BESIDE_LIBRARY = 1 << 20
_MIN_COLUMNS = 8

# How many rows one product sums: few enough to be exact, and enough for the product to be quick.
_MAX_ROWS = 1024
_MIN_ROWS = 32

# How many operations are followed from a sum to where its operand comes from; further ones count as not in memory.
_MAX_ORIGINS = 64

# Operations whose result XLA's CPU compiler keeps in memory; everything else may be computed where it is used.
_INTO_MEMORY = {
    f"stablehlo.{name}"
    for name in (
        "convolution", "dot_general", "reduce_window", "scatter", "select_and_scatter", "sort", "while", "case"
    )
}  # fmt: skip

# In the text of a program, a type of numbers with fewer than 32 bits.
_HALF = re.compile(r"[x<](?:bf16|f16|f[468]E)")

_installed = False


def install() -> None:
    """Have JAX lower sums over outer dimensions for CPUs as here, in every program; calling it again does nothing."""
    global _installed
    if _installed:
        return
    _installed = True
    choose_options(_options)
    primitive = jax_core.primitives.reduce_sum_p
    given = lowering_for_cpus(primitive)

    def lower(ctx: mlir.LoweringRuleContext, operand: Any, **params: Any) -> Any:
        aval: Any = ctx.avals_in[0]
        if not (is_rewritable(aval, params) and _is_in_memory(operand, math.prod(aval.shape))):
            return given(ctx, operand, **params)
        # Without the mesh axes over which operands vary or are divided: the row of ones would have to match.
        plain = [jax.core.ShapedArray(aval.shape, aval.dtype)]
        # Apart, as XLA compiles each product of a row by itself, and those of one shape in such a function once.
        sum_up = functools.partial(_as_product, num_axes=len(params["axes"]))
        return lower_apart(ctx.replace(avals_in=plain), sum_up, operand)

    # JAX would lower a sum once for all of its shape, in a function of its own, where no operand has an origin.
    mlir.register_lowering(primitive, lower, platform="cpu", cacheable=False)


def _options(program: mlir.ir.Module) -> dict[str, str]:
    """Return what a program is compiled with: a library sums for it where that is right."""
    if not xla_flags.is_ours():
        return {}
    text = str(program.operation.get_asm(large_elements_limit=1))
    if _HALF.search(text):
        return {}
    return {xla_flags.NAME: xla_flags.WITH_SUMS}


def is_rewritable(aval: Any, params: dict[str, Any]) -> bool:
    """Return whether a sum is one over several outer dimensions of a float32 array that is large enough.

    Args:
        aval: The operand's shape and dtype.
        params: The parameters of `reduce_sum`.
    """
    axes, shape = tuple(params["axes"]), aval.shape
    sharding = params.get("out_sharding")
    if aval.dtype != np.float32 or axes != tuple(range(len(axes))) or not 1 < len(axes) < len(shape):
        return False
    if sharding is not None and any(part is not None for part in sharding.spec):
        return False
    if not all(isinstance(size, int | np.integer) for size in shape):
        return False
    rows, columns = math.prod(shape[: len(axes)]), math.prod(shape[len(axes) :])
    smallest = _MIN_SIZE_BESIDE_LIBRARY if xla_flags.is_ours() else _MIN_SIZE
    return columns >= _MIN_COLUMNS and rows * columns >= smallest and _rows_at_once(rows) >= _MIN_ROWS


def _rows_at_once(rows: int) -> int:
    """Return the largest part of at most so many rows that all of them can be divided into."""
    return max(part for part in range(1, _MAX_ROWS + 1) if rows % part == 0)


def _as_product(x: jax.Array, num_axes: int) -> jax.Array:
    rows = math.prod(x.shape[:num_axes])
    size = _rows_at_once(rows)
    parts = x.reshape(rows // size, size, -1)
    ones = jnp.ones((len(parts), 1, size), x.dtype)
    product = (((2,), (1,)), ((0,), (0,)))
    # Whatever precision a program wants for its products: this is none of them.
    sums = lax.dot_general(ones, parts, product, precision=lax.Precision.HIGHEST)
    return sums.sum((0, 1)).reshape(x.shape[num_axes:])


def _is_in_memory(value: Any, size: int) -> bool:
    """Return whether a value is computed, element by element, from an array of its size that is in memory."""
    waiting, seen = [value], 0
    while waiting and seen < _MAX_ORIGINS:
        value = waiting.pop()
        seen += 1
        if _size(value) < size:
            continue
        operation = value.owner
        is_argument = not hasattr(operation, "operands")
        if _is_block_of_program(operation) if is_argument else operation.name in _INTO_MEMORY:
            return True
        # What is not even followed makes a large array out of small ones: a broadcast, a gather, padding.
        waiting.extend(() if is_argument else operation.operands)
    return False


def _size(value: Any) -> int:
    shape = getattr(value.type, "shape", None)
    return math.prod(shape) if shape is not None else 0


def _is_block_of_program(block: Any) -> bool:
    """Return whether a block's arguments are those of a program or of a loop, not of a function inside of it."""
    attributes = block.owner.attributes
    return "sym_visibility" not in attributes or attributes["sym_visibility"].value != "private"
