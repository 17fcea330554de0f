"""What Stratax takes from the inside of JAX, and why (seams layer).

- `core`, `ad`, `partial_eval`: the gradient tape is a trace of its own, and JAX documents no base class for one.
- `distributed`, `xla_bridge`, `make_gloo_tcp_collectives`: starting JAX as one of several processes offers no choice of
  the address at which collectives between CPUs listen, no way to forget the others without waiting for them, and no
  question whether JAX has started.
- `inside_axes`, `outside_axes`: replicas that run in Python name the axis of a mesh that they are not mapped over.
- `call_back`: `jax.debug.callback` wraps its function, so that a program does not tell what it calls.
- `lower_as_delivery`: JAX' own callbacks copy what they are given to a device of the host, and one that waits for the
  copy of a large array may wait for the very thread that it keeps.
- `lower_as_nothing`: a mark in a program that nothing is compiled for.
- `lower_as_call`: for the same reason, where the function on the host gives results.
- `forget_failed`: who waits for all programs, as JAX does at its end, would get the error of one again that has failed.
- `TracedOperation`, `operation_of`: a value that is traced may follow from constants alone; JAX knows how it came
  about, and asks nobody.
- `inputs_of_scan`: which inputs of a loop are what, which its equation says in another way in each version.
- `lines_of`: which lines an operation of a program comes from, which JAX tells only in its own messages.
- `without_source_files`: programs say which files they came from; JAX leaves that out for a whole process only.
- `hardware_utils`: JAX looks for a TPU's chips before it starts, and has no public question for it.
- `lowering_for_cpus`: a lowering that is registered for a primitive takes the place of JAX's, which it can't ask for.
- `choose_options`: options of XLA that fit some programs only are asked for before a program is known.
- `index_closed_over_arrays`: an array that lies on the mesh of a `shard_map` can't be indexed inside of it.
- `end_to_end`, `hide_numbers`, `reshape`: `mlir.lower_fun` would trace a function for each of these operations.
- `new_variable`, `copy_equation`: parts of a program are made of others, and a trace is no place to change one.
- `lower_apart`: XLA fuses what it finds side by side, and only a function that it does not inline is compiled alone.
"""

import contextlib
import functools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import jax.extend.core
import numpy as np
from jax._src import (
    callback,
    compiler,
    config,
    core,
    debugging,
    dispatch,
    distributed,
    hardware_utils,
    sharding_impls,
    source_info_util,
    xla_bridge,
)
from jax._src.interpreters import ad, batching, partial_eval
from jax._src.lib import _jax, xla_client
from jax._src.lib.mlir.dialects import hlo
from jax._src.numpy import indexing
from jax.interpreters import mlir

_ATTRIBUTES = "mhlo.frontend_attributes"

make_gloo_tcp_collectives = _jax.make_gloo_tcp_collectives

__all__ = [
    "TracedOperation",
    "ad",
    "call_back",
    "choose_options",
    "computes_now",
    "copy_equation",
    "core",
    "distributed",
    "end_to_end",
    "forget_failed",
    "hardware_utils",
    "hide_numbers",
    "index_closed_over_arrays",
    "inputs_of_scan",
    "inside_axes",
    "lines_of",
    "lower_apart",
    "lower_as_call",
    "lower_as_delivery",
    "lower_as_nothing",
    "lowering_for_cpus",
    "make_gloo_tcp_collectives",
    "new_variable",
    "operation_of",
    "outside_axes",
    "partial_eval",
    "reshape",
    "without_folding",
    "without_source_files",
    "xla_bridge",
]


@contextlib.contextmanager
def inside_axes(sizes: Mapping[str, int]) -> Iterator[None]:
    """Let collectives of a block name axes that no transformation of JAX has made."""
    # Without the check of JAX 0.10 that a value differs between devices, which only `shard_map` can tell.
    with core.extend_axis_env_nd(list(sizes.items())), config._check_vma(False):
        yield


def lines_of(equation: jax.extend.core.JaxprEqn) -> Iterator[tuple[str, int]]:
    """Return the files and lines that an operation was made in, the innermost first, without JAX' own."""
    frames = source_info_util.user_frames(equation.source_info.traceback)
    return ((frame.file_name, frame.start_line) for frame in frames)


def inputs_of_scan(equation: jax.extend.core.JaxprEqn) -> tuple[int, int]:
    """Return how many constants, and how many carried values behind them, an equation of `jax.lax.scan` takes."""
    if "ft_in" not in equation.params:
        return equation.params["num_consts"], equation.params["num_carry"]
    # JAX 0.11.
    constants, carried, _ = equation.params["ft_in"].unpack()
    return len(constants), len(carried)


def without_folding() -> contextlib.AbstractContextManager[None]:
    """Have a trace in a block record every operation, also inside of `jax.ensure_compile_time_eval`."""
    context: contextlib.AbstractContextManager[None] = config.eager_constant_folding(False)
    return context


@contextlib.contextmanager
def outside_axes() -> Iterator[None]:
    """Run a block as if it stood in no transformation of JAX that has named axes."""
    before = core.trace_ctx.axis_env
    core.trace_ctx.set_axis_env(core.top_axis_env)
    try:
        yield
    finally:
        core.trace_ctx.set_axis_env(before)


class TracedOperation(NamedTuple):
    """An operation of a program that is being traced.

    Attributes:
        primitive: What it is.
        operands: Its operands as traced values, also those that are constants.
        params: Its parameters.
        position: Which of its results is meant.
        has_effects: Whether it does more than to compute its results.
        number: The same for all of its results, and for no other operation.
    """

    primitive: jax.extend.core.Primitive
    operands: list[Any]
    params: dict[str, Any]
    position: int
    has_effects: bool
    number: int


def operation_of(value: Any) -> TracedOperation | None:
    """Return what computes a value; None of arguments, and of what is no value of a program that is traced."""
    if not isinstance(value, partial_eval.DynamicJaxprTracer) or value.parent is None:
        return None
    made = value.parent
    position = next(index for index, result in enumerate(made.outvars) if result is value.val)
    # What is captured from an outer program is that program's value.
    lowered = [core.full_lower(operand) for operand in made.in_tracers]
    operands = [
        outer if isinstance(outer, core.Tracer) else own
        for own, outer in zip(made.in_tracers, lowered, strict=True)
    ]
    return TracedOperation(made.primitive, operands, made.params, position, bool(made.effects), id(made))


def identity_of(value: Any) -> int:
    """Return a number that is the same for all tracers of one value of a program that is traced, and no other's."""
    return id(value.val if isinstance(value, partial_eval.DynamicJaxprTracer) else value)


def computes_now() -> bool:
    """Return whether operations on arrays give arrays: nothing is traced, or `ensure_compile_time_eval` is around."""
    return core.trace_state_clean() or bool(config.eager_constant_folding.value)


def lowering_for_cpus(primitive: jax.extend.core.Primitive) -> Callable[..., Any]:
    """Return how JAX lowers a primitive for CPUs, before anything else is registered for it."""
    # The platform's own lowering goes before the general one, as in JAX.
    entry: Any = mlir._platform_specific_lowerings["cpu"].get(primitive, mlir._lowerings.get(primitive))
    return entry.rule


def choose_options(choose: Callable[[mlir.ir.Module], dict[str, str]]) -> None:
    """Have each program that is compiled for CPUs compiled with further options, where its user gives no such options.

    Args:
        choose: Returns the options of a program, by name.
    """
    given: Any = compiler.compile_or_get_cached

    def compile_or_get_cached(
        backend: Any, computation: Any, devices: Any, options: Any, *rest: Any, **keywords: Any
    ) -> Any:
        if backend.platform == "cpu":
            before = list(options.env_option_overrides)
            names = {name for name, _ in before}
            chosen = [(name, value) for name, value in choose(computation).items() if name not in names]
            options.env_option_overrides = before + chosen
        return given(backend, computation, devices, options, *rest, **keywords)

    seam: Any = compiler
    seam.compile_or_get_cached = compile_or_get_cached


@functools.cache
def index_closed_over_arrays() -> None:
    """Have arrays on the devices of a `shard_map` be indexed by functions that close over them, as all else takes them.

    The type of such an array names their mesh, with axes that XLA divides. JAX 0.10 compares it with the mesh that is
    traced for, whose axes are the function's own: "Context mesh ... should match the mesh of sharding".
    """
    given = indexing.canonicalize_sharding

    @functools.wraps(given)
    def canonicalize_sharding(sharding: Any, *args: Any, **kwargs: Any) -> Any:
        is_named = isinstance(sharding, jax.sharding.NamedSharding)
        is_outer = is_named and sharding.mesh.abstract_mesh.are_all_axes_auto
        # In the function every device has the whole of it.
        if is_outer and jax.sharding.get_abstract_mesh().are_all_axes_manual:
            return None
        return given(sharding, *args, **kwargs)

    indexing.canonicalize_sharding = canonicalize_sharding


def lower_apart(ctx: Any, function: Callable[..., Any], *operands: Any) -> Any:
    """Lower a function of arrays as one that XLA compiles by itself, fused with nothing around it.

    XLA computes what is cheap again in each operation that uses it, and compiles each of these formulas: what has many
    operations is compiled many times then. Two such functions with the same operations share what is compiled.

    Args:
        ctx: The context of the lowering, with the types of the operands.
        function: Computes an array, or a list of arrays.
        *operands: The operands, as the lowering is given them.
    """
    apart = jax.jit(lambda *arrays: jax.tree.leaves(function(*arrays)))
    results = mlir.lower_fun(apart, multiple_results=True)(ctx, *operands)
    call = results[0].owner
    call.attributes[_ATTRIBUTES] = mlir.ir.DictAttr.get({"inlineable": mlir.ir.StringAttr.get("false")})
    return results


def hide_numbers(numbers: Sequence[int]) -> list[Any]:
    """Lower numbers, unsigned ones, that XLA does not put into what uses them."""
    barrier = hlo.OptimizationBarrierOp([mlir.ir_constant(np.uint32(number)) for number in numbers])
    return list(barrier.results)


def reshape(value: Any, shape: tuple[int, ...]) -> Any:
    """Lower an array of another shape, with the same elements."""
    return hlo.reshape(mlir.ir.RankedTensorType.get(shape, value.type.element_type), value)


def end_to_end(values: Sequence[Any]) -> Any:
    """Lower an array of one dimension that has the elements of others, one after the other."""
    flat = [reshape(value, (math.prod(value.type.shape),)) for value in values]
    return hlo.concatenate(flat, mlir.ir.IntegerAttr.get(mlir.ir.IntegerType.get_signless(64), 0))


def new_variable(aval: Any) -> Any:
    """Return a variable for a program, of which nothing is known but its type."""
    return core.Var(aval)


def copy_equation(
    beside: Any, operands: list[Any], results: list[Any], primitive: Any, params: dict[str, Any]
) -> Any:
    """Return an operation for a program, in the surroundings of another one and without effects."""
    return beside.replace(
        invars=operands, outvars=results, primitive=primitive, params=params, effects=core.no_effects
    )


def call_back(receive: Callable[..., None], operands: list[Any], *, ordered: bool) -> None:
    """Do what `jax.debug.callback` does, with a function that programs keep as it is."""
    effect = debugging.ordered_debug_effect if ordered else debugging.debug_effect
    debugging.debug_callback_p.bind(*operands, callback=receive, effect=effect, partitioned=False)


def lower_as_delivery(primitive: jax.extend.core.Primitive) -> None:
    """Have a primitive without results call `params["receive"]` with NumPy arrays while a program runs.

    It does so in no order, once in all outside of `shard_map`, and once on each device inside. In all else it is what
    `jax.debug.callback` is: it stands in loops and branches, and gradients pass it by.
    """

    @primitive.def_effectful_abstract_eval
    def _types(*_: object, **__: object) -> tuple[list[Any], set[Any]]:
        return [], {debugging.debug_effect}

    def lowering(ctx: Any, *operands: Any, receive: Callable[..., None]) -> Any:
        def call(*arrays: Any) -> tuple[()]:
            receive(*arrays)
            return ()

        results, _, _ = callback.emit_python_callback(
            ctx,
            call,
            None,
            list(operands),
            ctx.avals_in,
            ctx.avals_out,
            has_side_effect=True,
            returns_token=True,
            sharding=_sharding_of_callback(ctx),
        )
        return results

    for platform in ("cpu", "gpu"):
        mlir.register_lowering(primitive, lowering, platform=platform)
    # On TPUs callbacks have channels, which are numbered in each program.
    mlir.register_lowering(primitive, lowering, platform="tpu", cacheable=False)
    ad.primitive_jvps[primitive] = lambda primals, _, **params: (primitive.bind(*primals, **params), [])
    batching.primitive_batchers[primitive] = functools.partial(
        debugging.debug_batching_rule, primitive=primitive
    )
    partial_eval.partial_eval_jaxpr_custom_rules[primitive] = functools.partial(
        debugging._debug_partial_eval_custom, primitive=primitive
    )


def lower_as_nothing(primitive: jax.extend.core.Primitive) -> None:
    """Have a primitive without results and effects be no part of what is compiled; gradients and batches pass it by."""
    mlir.register_lowering(primitive, lambda *_, **__: [])
    ad.primitive_jvps[primitive] = lambda primals, _, **params: (primitive.bind(*primals, **params), [])
    batching.primitive_batchers[primitive] = lambda args, _, **params: (primitive.bind(*args, **params), [])


def forget_failed() -> None:
    """Forget the programs of this thread that have called the host and have ended, well or with an error."""
    tokens = dispatch.runtime_tokens
    for token in (*tokens.current_tokens.values(), *tokens.output_runtime_tokens.values()):
        # All of them: those of other devices may still run.
        with contextlib.suppress(jax.errors.JaxRuntimeError):
            token.block_until_ready()
    tokens.clear()


def lower_as_call(primitive: jax.extend.core.Primitive) -> None:
    """Have a primitive call `params["function"]` with NumPy arrays while a program runs, and give what it returns.

    `params["types"]` are the types of the results. It is called once in all outside of `shard_map`, and once on each
    device inside, in no order; in a `vmap` once for each row. It has no derivative.
    """

    @primitive.def_effectful_abstract_eval
    def _types(*_: object, types: tuple[Any, ...], **__: object) -> tuple[list[Any], set[Any]]:
        return [core.ShapedArray(each.shape, each.dtype) for each in types], {callback._IOEffect}

    def lowering(ctx: Any, *operands: Any, function: Callable[..., Any], types: tuple[Any, ...]) -> Any:
        context = ctx.module_context.axis_context
        results, _, _ = callback.emit_python_callback(
            ctx,
            function,
            None,
            list(operands),
            ctx.avals_in,
            ctx.avals_out,
            has_side_effect=True,
            sharding=callback._callback_op_sharding(context, None, ctx.avals_out),
        )
        return results

    for platform in ("cpu", "gpu"):
        mlir.register_lowering(primitive, lowering, platform=platform)
    mlir.register_lowering(primitive, lowering, platform="tpu", cacheable=False)

    def batch(args: Any, dims: Any, **params: Any) -> Any:
        rows = [
            arg if dim is None else batching.moveaxis(arg, dim, 0)
            for arg, dim in zip(args, dims, strict=True)
        ]

        def of_row(batched: list[Any]) -> Any:
            given = iter(batched)
            merged = [row if dim is None else next(given) for row, dim in zip(rows, dims, strict=True)]
            return primitive.bind(*merged, **params)

        batched = [row for row, dim in zip(rows, dims, strict=True) if dim is not None]
        results = jax.lax.map(of_row, batched)
        return results, (0,) * len(results)

    batching.primitive_batchers[primitive] = batch


@contextlib.contextmanager
def without_source_files() -> Iterator[None]:
    """Have programs that are lowered in a block not say which lines of which files they came from.

    They are for profiles and debuggers. What is written for others carries paths of the machine that made it.
    """
    with config.hlo_source_file_canonicalization_regex(".*"), config.traceback_in_locations_limit(0):
        yield


def _sharding_of_callback(ctx: Any) -> Any:
    """Return where a callback runs: on each device of a `shard_map`, else on the first one."""
    context = ctx.module_context.axis_context
    shardy = config.use_shardy_partitioner.value
    if isinstance(context, sharding_impls.SPMDAxisContext):
        if shardy:
            return callback._get_sdy_array_list_for_callbacks(ctx.avals_out)
        sharding = xla_client.OpSharding()
        sharding.type = xla_client.OpSharding.Type.MANUAL
        return sharding
    if not isinstance(context, sharding_impls.ShardingContext):
        return None
    if shardy:
        first = sharding_impls.SdyArray(mesh_shape=(), dim_shardings=(), logical_device_ids=(0,))
        return sharding_impls.SdyArrayList((first,))
    sharding = xla_client.OpSharding()
    sharding.type = xla_client.OpSharding.Type.MAXIMAL
    sharding.tile_assignment_dimensions = [1]
    sharding.tile_assignment_devices = [0]
    return sharding


def is_of_program(value: Any) -> bool:
    """Return whether a value is computed by a program that is being traced, also below a derivative.

    Args:
        value: An array. What a derivative computes at once is traced, too, and of no program.
    """
    while isinstance(value, jax.core.Tracer):
        if isinstance(value, partial_eval.DynamicJaxprTracer):
            return True
        value = getattr(value, "primal", getattr(value, "val", None))
    return False
