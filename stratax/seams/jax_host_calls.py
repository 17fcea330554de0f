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

__all__ = ["CHECKS", "called_with", "compiled_with", "print_formatted", "with_numbered_calls"]

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
def _call_types(*_: Any, number: int, types: tuple[Any, ...]) -> tuple[list[Any], set[Any]]:
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
def _chain_types(*_: Any, jaxpr: Any) -> list[Any]:
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
def _known_type(aval: Any, *, functions: Any) -> Any:
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


def with_numbered_calls(closed: Any, number_of: Callable[[Any], int | None]) -> Any:
    """Return a closed jaxpr whose calls of Python are numbered ones.

    Args:
        closed: The jaxpr.
        number_of: Gives the number of what an operation calls; None for one that calls nothing.
    """
    return core.ClosedJaxpr(_Numbering(number_of).jaxpr(closed.jaxpr), closed.consts)


def called_with(closed: Any) -> Callable[..., list[Any]]:
    """Return a function that computes such a jaxpr, to be exported: it gives its results and a number behind them.

    Args:
        closed: What :func:`with_numbered_calls` has given.
    """
    return lambda *operands: _chain_p.bind(*closed.consts, *operands, jaxpr=closed.jaxpr)


def compiled_with(exported: Any, functions: Sequence[Callable[..., Any]]) -> Callable[..., Any]:
    """Return an exported function, compiled with the functions that it calls.

    Args:
        exported: The function. The last one of its results is the number that :func:`called_with` has given.
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


class _Numbering:
    """Goes through jaxprs, each once."""

    def __init__(self, number_of: Callable[[Any], int | None]) -> None:
        self._number_of = number_of
        self._made: dict[int, tuple[Any, Any]] = {}

    def jaxpr(self, jaxpr: Any) -> Any:
        if id(jaxpr) not in self._made:
            equations = [self._equation(equation) for equation in jaxpr.eqns]
            is_same = all(made is before for made, before in zip(equations, jaxpr.eqns, strict=True))
            # A branch that calls nothing has the effects of the others.
            if is_same and not any(isinstance(effect, _CALLING) for effect in jaxpr.effects):
                made = jaxpr
            else:
                made = jaxpr.replace(eqns=equations, effects=_ordered(jaxpr.effects))
            # With the jaxpr itself, so that no other one gets its id.
            self._made[id(jaxpr)] = jaxpr, made
        return self._made[id(jaxpr)][1]

    def _equation(self, equation: Any) -> Any:
        number = self._number_of(equation)
        if number is not None:
            types = tuple(jax.ShapeDtypeStruct(v.aval.shape, v.aval.dtype) for v in equation.outvars)
            return equation.replace(
                primitive=_call_p, params={"number": number, "types": types}, effects={_effect}
            )
        params = {name: self._param(value) for name, value in equation.params.items()}
        if all(params[name] is value for name, value in equation.params.items()):
            return equation
        return equation.replace(params=params, effects=_ordered(equation.effects))

    def _param(self, value: Any) -> Any:
        if isinstance(value, core.ClosedJaxpr):
            made = self.jaxpr(value.jaxpr)
            return value if made is value.jaxpr else core.ClosedJaxpr(made, value.consts)
        if isinstance(value, core.Jaxpr):
            return self.jaxpr(value)
        if type(value) is tuple:
            parts = tuple(map(self._param, value))
            return value if all(part is each for part, each in zip(parts, value, strict=True)) else parts
        return value


def _ordered(before: Any) -> set[Any]:
    """Return the effects of what has numbered calls in it."""
    return {each for each in before if not isinstance(each, _CALLING)} | {_effect}
