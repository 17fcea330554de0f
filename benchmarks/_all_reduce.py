"""All-reduces of gradients: packed, unpacked, and by each of the ways to combine replicas' values."""

from collections.abc import Sequence

import jax
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

import stratax as sx
from benchmarks import _measure

_MANY_SMALL = [(64, 8), (8,)] * 80
_FEW_LARGE = [(784, 512), (512,), (512, 512), (512,), (512, 10), (10,)]
_GRADIENTS = {"many small": _MANY_SMALL, "few large": _FEW_LARGE}


def packed_against_unpacked(gradients: str, plan: _measure.Plan) -> _measure.Figure:
    """Summing gradients in packs, against one by one."""
    packed = _of_strategy(sx.distribute.NcclAllReduce(), gradients)
    unpacked = _of_strategy(sx.distribute.NcclAllReduce(num_packs=0), gradients)
    ours, theirs = _measure.in_turns(packed, unpacked, plan=plan)
    return _measure.ratio(ours, theirs, numerator="packed", denominator="unpacked")


def against_psum(ops: str, gradients: str, plan: _measure.Plan) -> _measure.Figure:
    """Summing gradients one way, against `jax.lax.psum` in `jit(shard_map(...))`."""
    ours = _of_strategy(getattr(sx.distribute, ops)(), gradients)
    found = _measure.in_turns(ours, _by_hand(gradients), plan=plan)
    return _measure.ratio(*found, numerator="stratax", denominator="psum")


def _of_strategy(ops: sx.distribute.CrossDeviceOps, gradients: str) -> _measure.Run:
    strategy = sx.distribute.MirroredStrategy(cross_device_ops=ops)
    values = strategy.run(lambda: _ones(gradients))

    def replica_sum(arrays: list[jax.Array]) -> list[jax.Array]:
        return sx.distribute.get_replica_context().all_reduce("SUM", arrays)

    @sx.function
    def total(arrays: list[jax.Array]) -> list[jax.Array]:
        return strategy.run(replica_sum, args=(arrays,))

    def run(count: int) -> None:
        for _ in range(count):
            result = total(values)
        jax.block_until_ready(jax.tree.leaves(result))

    return run


def _by_hand(gradients: str) -> _measure.Run:
    mesh = Mesh(np.array(jax.devices()), ("replica",), axis_types=(AxisType.Auto,))
    spread = PartitionSpec("replica")
    compiled = jax.jit(
        jax.shard_map(
            lambda arrays: jax.lax.psum(arrays, "replica"),
            mesh=mesh,
            in_specs=spread,
            out_specs=spread,
            check_vma=False,
        )
    )
    replicas = len(jax.devices())
    ones = [np.ones((replicas, *value.shape), np.float32) for value in _ones(gradients)]
    values = jax.device_put(ones, NamedSharding(mesh, spread))

    def run(count: int) -> None:
        for _ in range(count):
            result = compiled(values)
        jax.block_until_ready(result)

    return run


def _ones(gradients: str) -> Sequence[np.ndarray]:
    return [np.ones(shape, np.float32) for shape in _GRADIENTS[gradients]]
