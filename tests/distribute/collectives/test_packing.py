"""Arrays are packed into as few collectives as it takes."""

import contextlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import PartitionSpec

from stratax.command.rehearsal import Catcher
from stratax.distribute.collectives import NcclAllReduce, ReductionToOneDevice
from stratax.distribute.replicas import REPLICA_AXES, ReduceOp
from tests.distribute.collectives.test_cross_device_ops import SHAPES, reduced, replica_mesh


@pytest.mark.parametrize(
    "packed", [{"num_packs": 3}, {"bytes_per_pack": 64}, {"bytes_per_pack": 1 << 20}], ids=str
)
def test_packed_psum_equals_unpacked_bit_by_bit(packed):
    numbers = np.random.default_rng(2)
    components = [[numbers.normal(size=shape).astype(np.float32) for shape in SHAPES] for _ in range(8)]
    mesh = replica_mesh(8)
    unpacked = reduced(NcclAllReduce(num_packs=0), "sum", components, mesh)
    for one, other in zip(reduced(NcclAllReduce(**packed), "sum", components, mesh), unpacked, strict=True):
        np.testing.assert_array_equal(np.asarray(one).view(np.int32), np.asarray(other).view(np.int32))


def num_collectives(ops, num_arrays):
    def reduce_all(arrays):
        return ops.reduce_in_replica(ReduceOp.SUM, arrays, REPLICA_AXES, 2)

    mapped = jax.shard_map(
        reduce_all, mesh=replica_mesh(2), in_specs=PartitionSpec(), out_specs=PartitionSpec(), check_vma=False
    )
    return jax.jit(mapped).lower([jnp.ones(4)] * num_arrays).as_text().count("stablehlo.all_reduce")


@pytest.mark.parametrize(
    ("ops", "expected"),
    [
        (NcclAllReduce(num_packs=0), 6),
        (NcclAllReduce(num_packs=2), 2),
        (NcclAllReduce(bytes_per_pack=48), 2),
        (NcclAllReduce(bytes_per_pack=1), 6),
        (NcclAllReduce(bytes_per_pack=4096), 1),
        (ReductionToOneDevice(), 1),
        (ReductionToOneDevice(accumulation_fn=sum), 6),
    ],
    ids=repr,
)
def test_packing_decides_how_many_collectives_there_are(ops, expected):
    assert num_collectives(ops, num_arrays=6) == expected


def lowered_for(platform, ops, heard=False):
    """Count the all-reduces and the buffers that are laid end to end in a program for devices that aren't there."""
    device = jax.sharding.AbstractDevice(device_kind=platform, num_cores=1, platform=platform)
    axis_types = (jax.sharding.AxisType.Auto,) * 2
    mesh = jax.sharding.AbstractMesh((2, 1), REPLICA_AXES, axis_types=axis_types, abstract_device=device)

    def reduce_all(arrays):
        return ops.reduce_in_replica(ReduceOp.SUM, arrays, REPLICA_AXES, 2)

    mapped = jax.shard_map(
        reduce_all,
        mesh=replica_mesh(2) if heard else mesh,
        in_specs=PartitionSpec(),
        out_specs=PartitionSpec(),
        check_vma=False,
    )
    with Catcher().catching() if heard else contextlib.nullcontext():
        traced = jax.jit(mapped).trace([jnp.ones((2, 3))] * 6)
    text = traced.lower(lowering_platforms=(platform,)).as_text()
    return text.count("stablehlo.all_reduce"), text.count("stablehlo.concatenate")


@pytest.mark.parametrize(
    ("platform", "ops", "expected"),
    [
        ("cpu", NcclAllReduce(), (1, 1)),
        ("tpu", NcclAllReduce(), (6, 0)),
        ("cuda", NcclAllReduce(), (6, 0)),
        # What is asked for is done.
        ("tpu", NcclAllReduce(num_packs=2), (2, 2)),
        ("tpu", NcclAllReduce(bytes_per_pack=1 << 20), (1, 1)),
    ],
    ids=str,
)
def test_arrays_are_packed_where_the_compiler_does_not_merge_collectives(platform, ops, expected):
    assert lowered_for(platform, ops) == expected


@pytest.mark.parametrize(("platform", "expected"), [("cpu", (1, 1)), ("tpu", (6, 0))])
def test_a_program_that_may_be_compiled_for_others_is_packed_as_they_need(platform, expected):
    assert lowered_for(platform, NcclAllReduce(), heard=True) == expected


def test_large_arrays_travel_alone_and_the_small_ones_between_them_together():
    small, large = jnp.ones(10), jnp.ones(1 << 17)
    assert NcclAllReduce().plan([small, large, small, large, small]) == ((0, 2, 4), (1,), (3,))
    assert NcclAllReduce().plan([small, small.astype(jnp.int32), small]) == ((0, 2), (1,))
