"""Every way of combining the replicas' values: right sums, packed or not, and a user's own."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.sharding import NamedSharding, PartitionSpec

from stratax.distribute.collectives import (
    AllReduceCrossDeviceOps,
    HierarchicalCopyAllReduce,
    NcclAllReduce,
    ReductionToOneDevice,
    RingAllReduce,
)
from stratax.distribute.replicas import REPLICA_AXES, PerReplica, ReduceOp, mesh_of
from stratax.distribute.replicas._values import per_replica_from_components
from stratax.errors import BadArgumentError, BadTypeError, DeviceError
from tests import stressed

# jaxlib 0.11.2 for CPUs dies of a program that sums an empty array and another one over devices.
SHAPES = [(), (7,), (3, 5), (64,), *([] if jax.__version_info__ >= (0, 11) else [(0, 3)])]
DTYPES = ["float32", "bfloat16", "int32", "complex64", "bool"]
DEFAULT_OPS = [NcclAllReduce(), HierarchicalCopyAllReduce(), RingAllReduce(), ReductionToOneDevice()]
OTHER_OPS = [
    NcclAllReduce(num_packs=2),
    RingAllReduce(num_packs=0),
    ReductionToOneDevice(accumulation_fn=lambda arrays: sum(arrays[1:], arrays[0])),
]


def replica_mesh(num_replicas):
    return mesh_of(jax.devices()[:num_replicas])


def random_components(num_replicas, seed=0):
    """One list of arrays for each replica, with every shape and dtype; small integers, exact in all of them."""
    numbers = np.random.default_rng(seed)
    return [
        [jnp.asarray(numbers.integers(0, 4, shape), dtype) for shape in SHAPES for dtype in DTYPES]
        for _ in range(num_replicas)
    ]


def per_replicas(components, mesh):
    return [per_replica_from_components(same, mesh) for same in zip(*components, strict=True)]


def reduced(ops, op, components, mesh):
    return ops.batch_reduce(op, [(value, None) for value in per_replicas(components, mesh)])


def as_float64(array):
    return np.asarray(array).astype(np.complex128)


@pytest.mark.parametrize("ops", DEFAULT_OPS, ids=repr)
def test_a_mean_is_divided_pack_by_pack(ops):
    mapped = jax.shard_map(
        lambda arrays: ops.reduce_in_replica(ReduceOp.MEAN, arrays, REPLICA_AXES, 4),
        mesh=replica_mesh(4),
        in_specs=PartitionSpec(),
        out_specs=PartitionSpec(),
        check_vma=False,
    )
    arrays = [jnp.ones(shape) for shape in [(3,), (2, 2), (7,)]]
    lines = jax.jit(mapped).lower(arrays).as_text().splitlines()
    assert len([line for line in lines if "stablehlo.divide" in line and "f32" in line]) == 1
    for mean, array in zip(jax.jit(mapped)(arrays), arrays, strict=True):
        np.testing.assert_array_equal(mean, array)


@pytest.mark.parametrize(
    ("ops", "num_replicas"),
    stressed.but(
        lambda ops, num_replicas: num_replicas in (3, 8),
        [*itertools.product(DEFAULT_OPS, [1, 2, 3, 4, 8]), *itertools.product(OTHER_OPS, [3])],
    ),
    ids=repr,
)
def test_sum_equals_numpy_in_float64_for_every_shape_and_dtype(ops, num_replicas):
    components = random_components(num_replicas)
    sums = reduced(ops, ReduceOp.SUM, components, replica_mesh(num_replicas))
    for total, same in zip(sums, zip(*components, strict=True), strict=True):
        assert total.shape == same[0].shape
        assert total.dtype == (jnp.int32 if same[0].dtype == bool else same[0].dtype)
        np.testing.assert_array_equal(as_float64(total), sum(as_float64(array) for array in same))


@pytest.mark.parametrize("ops", DEFAULT_OPS + OTHER_OPS, ids=repr)
def test_mean_of_random_floats_equals_numpy_to_rounding(ops):
    numbers = np.random.default_rng(1)
    components = [[numbers.normal(size=shape).astype(np.float32) for shape in SHAPES] for _ in range(8)]
    means = reduced(ops, "mean", components, replica_mesh(8))
    for mean, same in zip(means, zip(*components, strict=True), strict=True):
        np.testing.assert_allclose(mean, np.mean(np.float64(same), axis=0), rtol=1e-5, atol=1e-6)
        assert mean.dtype == jnp.float32


def test_mean_of_integers_is_a_floating_point_number():
    value = per_replica_from_components([np.int32(1), np.int32(2)], replica_mesh(2))
    mean = NcclAllReduce().reduce(ReduceOp.MEAN, value)
    assert (float(mean), mean.dtype) == (1.5, jnp.float32)


def test_hierarchical_uses_groups_only_where_the_number_of_replicas_has_divisors():
    def text(num_replicas):
        ops = HierarchicalCopyAllReduce()
        mapped = jax.shard_map(
            lambda array: ops.reduce_in_replica(ReduceOp.SUM, [array], REPLICA_AXES, num_replicas),
            mesh=replica_mesh(num_replicas),
            in_specs=PartitionSpec(),
            out_specs=PartitionSpec(),
            check_vma=False,
        )
        return jax.jit(mapped).lower(jnp.ones(8)).as_text()

    assert "reduce_scatter" in text(8)
    assert "[[0, 1, 2, 3], [4, 5, 6, 7]]" in text(8)
    assert "reduce_scatter" not in text(3)


def test_every_replica_gets_the_same_result():
    mesh = replica_mesh(8)
    value = per_replica_from_components(list(np.random.default_rng(3).normal(size=(8, 5))), mesh)
    for ops in DEFAULT_OPS:
        mapped = jax.shard_map(
            lambda array, ops=ops: ops.reduce_in_replica(ReduceOp.SUM, [array], REPLICA_AXES, 8)[0],
            mesh=mesh,
            in_specs=PartitionSpec(REPLICA_AXES),
            out_specs=PartitionSpec(REPLICA_AXES),
            check_vma=False,
        )
        rows = np.asarray(jax.jit(mapped)(value.array))
        np.testing.assert_array_equal(rows, np.broadcast_to(rows[0], rows.shape))


def test_a_users_own_packed_ops_see_one_buffer_per_dtype():
    class Halved(AllReduceCrossDeviceOps):
        shapes = ()

        def sum_buffers(self, buffers, axis_name, num_replicas):
            self.shapes = [buffer.shape for buffer in buffers]
            return [lax.psum(buffer, axis_name) / 2 for buffer in buffers]

    ops = Halved()
    mesh = replica_mesh(2)
    pairs = [(per_replica_from_components([np.ones(shape)] * 2, mesh), None) for shape in [(2, 3), (4,)]]
    first, second = ops.batch_reduce("sum", pairs)
    assert ops.shapes == [(10,)]
    np.testing.assert_array_equal(first, np.ones((2, 3)))
    np.testing.assert_array_equal(second, np.ones(4))


def test_the_reduction_can_be_on_any_replicas_device():
    value = per_replica_from_components([np.float32(index) for index in range(4)], replica_mesh(4))
    assert float(ReductionToOneDevice("/CPU:3").reduce("sum", value)) == 6.0


def test_a_reduction_device_outside_the_replicas_is_refused():
    value = per_replica_from_components([np.float32(1)] * 2, replica_mesh(2))
    with pytest.raises(DeviceError, match=r"one of the 2 replicas.*'/CPU:5', which is device 5"):
        ReductionToOneDevice("/CPU:5").reduce("sum", value)


def test_an_accumulation_function_decides_what_is_computed():
    value = per_replica_from_components([np.float32(index) for index in (4, 1, 7, 2)], replica_mesh(4))

    def largest(arrays):
        return jnp.max(jnp.stack(arrays), axis=0)

    assert float(ReductionToOneDevice(accumulation_fn=largest).reduce("sum", value)) == 7.0


def test_gathering_concatenates_the_components_in_order():
    components = [np.full((2, 1), index, np.float32) for index in range(4)]
    value = per_replica_from_components(components, replica_mesh(4))
    np.testing.assert_array_equal(NcclAllReduce().all_gather(value), np.concatenate(components, axis=0))
    np.testing.assert_array_equal(
        NcclAllReduce().all_gather(value, axis=-1), np.concatenate(components, axis=1)
    )


@pytest.mark.parametrize(
    ("component", "axis", "message"),
    [
        (np.float32(1), 0, "give each a dimension first"),
        (np.ones(2), 1, "between -1 and 0. Received: axis=1"),
    ],
)
def test_gathering_along_a_missing_dimension_is_refused(component, axis, message):
    value = per_replica_from_components([component] * 2, replica_mesh(2))
    with pytest.raises(BadArgumentError, match=message):
        NcclAllReduce().all_gather(value, axis=axis)


def test_results_go_where_they_are_asked_to_go():
    ops = NcclAllReduce()
    value = per_replica_from_components([np.ones(2)] * 4, replica_mesh(4))
    everywhere, pair = set(jax.devices()[:4]), set(jax.devices()[5:7])
    like = jax.device_put(1.0, NamedSharding(replica_mesh(4), PartitionSpec()))
    assert ops.reduce("sum", value).devices() == everywhere
    assert ops.reduce("sum", value, "/CPU:6").devices() == {jax.devices()[6]}
    assert ops.reduce("sum", value, ["/CPU:5", "/CPU:6"]).devices() == pair
    assert ops.broadcast(3.0, like).devices() == everywhere
    assert ops.broadcast(3.0, value).devices() == everywhere
    with pytest.raises(DeviceError, match="no such device"):
        ops.reduce("sum", value, "/GPU:0")
    with pytest.raises(BadTypeError, match=r"destinations must be a device.*destinations=3"):
        ops.broadcast(1.0, 3)


def test_one_component_is_its_own_sum_and_mean():
    solo = PerReplica(
        jax.device_put(jnp.arange(3.0), NamedSharding(replica_mesh(4), PartitionSpec())), solo=True
    )
    for op in ReduceOp:
        np.testing.assert_array_equal(RingAllReduce().reduce(op, solo), np.arange(3.0))
        np.testing.assert_array_equal(RingAllReduce().reduce(op, 5.0), 5.0)
    np.testing.assert_array_equal(RingAllReduce().all_gather(solo), np.arange(3.0))


def test_a_per_replica_that_is_not_on_a_mesh_is_refused():
    with pytest.raises(BadArgumentError, match="not laid out over the devices of a mesh"):
        NcclAllReduce().reduce("sum", PerReplica(jnp.ones((2, 3))))
    with pytest.raises(BadArgumentError, match=r"not laid out.*sharding=None"):
        jax.jit(lambda value: NcclAllReduce().reduce("sum", value))(
            per_replica_from_components([np.ones(3)] * 2, replica_mesh(2))
        )


def test_an_unknown_reduction_is_refused():
    with pytest.raises(BadArgumentError, match=r"ReduceOp.SUM or ReduceOp.MEAN.*reduce_op='max'"):
        NcclAllReduce().reduce("max", 1.0)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: NcclAllReduce(num_packs=-1), BadArgumentError, "num_packs must not be negative.*-1"),
        (lambda: NcclAllReduce(num_packs=1.5), BadTypeError, "num_packs must be an int.*1.5"),
        (lambda: RingAllReduce(bytes_per_pack="1"), BadTypeError, "bytes_per_pack must be an int.*'1'"),
        (lambda: RingAllReduce(2, bytes_per_pack=8), BadArgumentError, "either num_packs or bytes_per_pack"),
        (lambda: ReductionToOneDevice(None, 3), BadTypeError, "accumulation_fn must be a function.*3"),
        (
            lambda: ReductionToOneDevice(None, sum, bytes_per_pack=8),
            BadArgumentError,
            "either num_packs or bytes_per_pack",
        ),
    ],
)
def test_bad_options_are_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()
