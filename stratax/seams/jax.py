"""What Stratax takes from the inside of JAX, and why (seams layer).

- `core`, `ad`, `partial_eval`: the gradient tape is a trace of its own, and JAX documents no base class for one.
- `distributed`, `xla_bridge`, `make_gloo_tcp_collectives`: starting JAX as one of several processes offers no choice of
  the address at which collectives between CPUs listen, no way to forget the others without waiting for them, and no
  question whether JAX has started.
- `lower_as_delivery`: JAX' own callbacks copy what they are given to a device of the host, and one that waits for the
  copy of a large array may wait for the very thread that it keeps.
- `lowering_for_cpus`: a lowering that is registered for a primitive takes the place of JAX's, which it can't ask for.
"""

import functools
from collections.abc import Callable
from typing import Any

import jax.extend.core
from jax._src import callback, config, core, debugging, distributed, sharding_impls, xla_bridge
from jax._src.interpreters import ad, batching, partial_eval
from jax._src.lib import _jax, xla_client
from jax.interpreters import mlir

make_gloo_tcp_collectives = _jax.make_gloo_tcp_collectives

__all__ = [
    "ad",
    "core",
    "distributed",
    "lower_as_delivery",
    "lowering_for_cpus",
    "make_gloo_tcp_collectives",
    "partial_eval",
    "xla_bridge",
]


def lowering_for_cpus(primitive: jax.extend.core.Primitive) -> Callable[..., Any]:
    """Return how JAX lowers a primitive for CPUs, before anything else is registered for it."""
    # The platform's own lowering goes before the general one, as in JAX.
    entry: Any = mlir._platform_specific_lowerings["cpu"].get(primitive, mlir._lowerings.get(primitive))
    return entry.rule


def lower_as_delivery(primitive: jax.extend.core.Primitive) -> None:
    """Have a primitive without results call `params["receive"]` with NumPy arrays while a program runs.

    It does so in no order, once in all outside of `shard_map`, and once on each device inside. In all else it is what
    `jax.debug.callback` is: it stands in loops and branches, and gradients pass it by.
    """

    @primitive.def_effectful_abstract_eval
    def _types(*_: Any, **__: Any) -> tuple[list[Any], set[Any]]:
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
