"""Programs that call Python while they run, and are run in another process than the one they were traced in (seams).

JAX exports no program with callbacks: its lowering of one names a Python function of this process. What XLA knows of it
is the number that it has among the functions a program is compiled with, and so a program can be exported with such
numbers alone, and compiled elsewhere with functions for them.

All calls of a program are made one behind another, in the order in which they were traced. JAX' own have an order only
where they ask for one.
"""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.export
import jax.numpy as jnp
import numpy as np
from jax._src import callback, core, debugging, effects, ffi
from jax._src.interpreters import mlir

__all__ = ["CHECKS", "compile_with", "effects_of", "make_caller", "number_call", "print_formatted"]

# What XLA's calls of Python are named, by platform.
_TARGETS = {
    "cpu": "xla_ffi_python_cpu_callback",
    "cuda": "xla_ffi_python_gpu_callback",
    "rocm": "xla_ffi_python_gpu_callback",
}
# What lets `jax.export` pass them.
CHECKS = [jax.export.DisabledSafetyCheck.custom_call(target) for target in sorted(set(_TARGETS.values()))]


class _CallEffect(effects.Effect):
    """What keeps the calls of a program in their order."""


_effect = _CallEffect()
# What JAX says of operations that call Python.
_CALLING = tuple(map(type, (callback._IOEffect, callback._OrderedIOEffect, debugging.debug_effect)))
_CALLING += (type(debugging.ordered_debug_effect),)
for _kinds in (
    *(effects.ordered_effects, effects.lowerable_effects, effects.control_flow_allowed_effects),
    *(effects.custom_derivatives_allowed_effects, effects.remat_allowed_effects),
    effects.partial_eval_kept_effects,
):
    _kinds.add_type(_CallEffect)

# `_call_p.bind(*operands, number=, types=)`: calls the function of that number.
_call_p = core.Primitive("stratax_numbered_call")
_call_p.multiple_results = True


@_call_p.def_effectful_abstract_eval
def _call_types(*_: object, number: int, types: tuple[Any, ...]) -> tuple[list[Any], set[Any]]:
    del number
    return [core.ShapedArray(each.shape, each.dtype) for each in types], {_effect}


def _lower_call(ctx: Any, *operands: Any, number: int, types: tuple[Any, ...]) -> Any:
    del types
    (platform,) = ctx.module_context.platforms
    lower = ffi.build_ffi_lowering_function(_TARGETS[platform], has_side_effect=True)
    with_token = dataclasses.replace(
        ctx,
        avals_in=[core.abstract_token, *ctx.avals_in],
        avals_out=[core.abstract_token, *ctx.avals_out],
    )
    made = lower(with_token, ctx.tokens_in.get(_effect), *operands, index=np.uint64(number))
    token, *results = made.results
    ctx.set_tokens_out(mlir.TokenSet({_effect: token}))
    return results


# `_chain_p.bind(*constants, *operands, jaxpr=)`: a jaxpr with such calls, in their order; it gives one number more.
_chain_p = core.Primitive("stratax_chain")
_chain_p.multiple_results = True


@_chain_p.def_abstract_eval
def _chain_types(*_: object, jaxpr: Any) -> list[Any]:
    return [*(variable.aval for variable in jaxpr.outvars), core.ShapedArray((), np.dtype(np.int32))]


def _lower_chain(ctx: Any, *operands: Any, jaxpr: Any) -> Any:
    count = len(jaxpr.constvars)
    results, _ = mlir.jaxpr_subcomp(
        ctx.module_context,
        jaxpr,
        ctx.name_stack,
        # Of its own: a program whose calls fail leaves no token that the next one would have to wait for.
        mlir.TokenSet({_effect: mlir.create_token()}),
        operands[:count],
        *operands[count:],
        dim_var_values=ctx.dim_var_values,
        const_lowering=ctx.const_lowering,
        outer_traceback=None,
    )
    return [*results, mlir.ir_constant(np.int32(0))]


# `_known_p.bind(array, functions=)`: gives the array, and has the program compiled with these functions.
_known_p = core.Primitive("stratax_known")


@_known_p.def_abstract_eval
def _find_known_type(aval: object, *, functions: object) -> Any:
    del functions
    return aval


def _lower_known(ctx: Any, operand: Any, *, functions: Sequence[Callable[..., Any]]) -> Any:
    for function in functions:
        ctx.module_context.add_host_callback(function)
    return [operand]


for _platform in _TARGETS:
    mlir.register_lowering(_call_p, _lower_call, platform=_platform)
mlir.register_lowering(_chain_p, _lower_chain)
mlir.register_lowering(_known_p, _lower_known)


def number_call(equation: Any, number: int) -> Any:
    """Return an operation that calls Python as one that calls the function of a number."""
    types = tuple(jax.ShapeDtypeStruct(v.aval.shape, v.aval.dtype) for v in equation.outvars)
    return equation.replace(primitive=_call_p, params={"number": number, "types": types}, effects={_effect})


def effects_of(before: Any, is_changed: bool) -> Any:
    """Return the effects of what has numbered calls in place of others.

    Args:
        before: The effects before.
        is_changed: Whether it has such calls. A branch that calls nothing has the effects of the others all the same.
    """
    others = {each for each in before if not isinstance(each, _CALLING)}
    return {*others, _effect} if is_changed or len(others) < len(before) else before


def make_caller(closed: Any) -> Callable[..., list[Any]]:
    """Return a function that computes such a jaxpr, to be exported: it gives its results and a number behind them.

    Args:
        closed: What is computed, whose calls of Python are numbered ones.
    """
    return lambda *operands: _chain_p.bind(*closed.consts, *operands, jaxpr=closed.jaxpr)


def compile_with(exported: Any, functions: Sequence[Callable[..., Any]]) -> Callable[..., Any]:
    """Return an exported function, compiled with the functions that it calls.

    Args:
        exported: The function. The last one of its results is the number that :func:`make_caller` has given.
        functions: The functions, by their numbers. Each takes a token and NumPy arrays, views of the program's memory,
            and gives the token and its results.
    """

    def run(*operands: Any) -> Any:
        *results, last = exported.call(*operands)
        # What nobody asks for would be left out.
        return [*results, _known_p.bind(jnp.asarray(last), functions=tuple(functions))]

    compiled = jax.jit(run)
    return lambda *operands: compiled(*operands)[:-1]


def print_formatted(*arrays: Any, **params: Any) -> None:
    """Do what `jax.debug.print` does, with its operation's parameters."""
    debugging.debug_print_p.impl(*arrays, **params)
