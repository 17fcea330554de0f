"""What XLA compiles quickly for CPUs is put in the place of what it does not (core layer)."""

import importlib
from typing import Any

import jax.extend.core
import jax.extend.core.primitives
from jax.interpreters import mlir

from stratax.core.cpu import _sums
from stratax.seams.jax import lowering_for_cpus

# Primitives, and the modules whose function `lower` lowers them: a program with none of them imports no such module.
_LOWERED = {
    "conv_general_dilated": "_convolutions",
    "reduce_window_sum": "_pooling",
    "reduce_window_max": "_pooling",
    "select_and_scatter_add": "_pooling",
}
_installed = False


def install() -> None:
    """Have JAX lower convolutions, pooling and sums for CPUs as here, in every program; again, it does nothing."""
    global _installed
    if _installed:
        return
    _installed = True
    for name, module in _LOWERED.items():
        _register(getattr(jax.extend.core.primitives, f"{name}_p"), name, f"{__package__}.{module}")
    _sums.install()


def _register(primitive: jax.extend.core.Primitive, name: str, module: str) -> None:
    given = lowering_for_cpus(primitive)

    def lower(ctx: mlir.LoweringRuleContext, *operands: object, **params: object) -> Any:
        return importlib.import_module(module).lower(name, given, ctx, *operands, **params)

    mlir.register_lowering(primitive, lower, platform="cpu")
