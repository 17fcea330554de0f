"""PerReplica: how it prints, its components, what it refuses, and its life as a pytree."""

import operator

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import NamedSharding, PartitionSpec

from stratax.distribute.replicas import (
    PerReplica,
    StepsPerReplica,
    is_per_replica,
    mesh_of,
    own_step,
)
from stratax.distribute.replicas._values import per_replica_from_components
from stratax.errors import BadArgumentError, BadTypeError, StructureError


@pytest.fixture(scope="module")
def mesh():
    return mesh_of(jax.devices()[:4])


@pytest.fixture
def value(mesh):
    return per_replica_from_components([np.array([index], np.int32) for index in range(4)], mesh)


def test_str_is_tensorflows(value):
    assert str(value) == (
        "PerReplica:{\n"
        "  0: tf.Tensor([0], shape=(1,), dtype=int32),\n"
        "  1: tf.Tensor([1], shape=(1,), dtype=int32),\n"
        "  2: tf.Tensor([2], shape=(1,), dtype=int32),\n"
        "  3: tf.Tensor([3], shape=(1,), dtype=int32)\n"
        "}"
    )


def test_repr_is_tensorflows(value):
    assert repr(value) == (
        "PerReplica:{\n"
        "  0: <tf.Tensor: shape=(1,), dtype=int32, numpy=array([0], dtype=int32)>,\n"
        "  1: <tf.Tensor: shape=(1,), dtype=int32, numpy=array([1], dtype=int32)>,\n"
        "  2: <tf.Tensor: shape=(1,), dtype=int32, numpy=array([2], dtype=int32)>,\n"
        "  3: <tf.Tensor: shape=(1,), dtype=int32, numpy=array([3], dtype=int32)>\n"
        "}"
    )


def test_matrices_and_scalars_print_as_tensorflow_prints_them():
    matrix = PerReplica(jnp.array([[[22.0, 28.0], [49.0, 64.0]]]))
    assert str(matrix) == (
        "PerReplica:{\n  0: tf.Tensor(\n[[22. 28.]\n [49. 64.]], shape=(2, 2), dtype=float32)\n}"
    )
    assert repr(matrix) == (
        "PerReplica:{\n  0: <tf.Tensor: shape=(2, 2), dtype=float32, numpy=\n"
        "array([[22., 28.],\n       [49., 64.]], dtype=float32)>\n}"
    )
    scalar = PerReplica(jnp.array([1.5], jnp.bfloat16))
    assert str(scalar) == "PerReplica:{\n  0: tf.Tensor(1.5, shape=(), dtype=bfloat16)\n}"
    assert repr(scalar) == "PerReplica:{\n  0: <tf.Tensor: shape=(), dtype=bfloat16, numpy=1.5>\n}"


def test_components_lie_on_their_replicas_devices_without_the_replica_dimension(value):
    assert (value.num_components, value.shape, value.dtype, value.ndim) == (4, (1,), np.int32, 1)
    assert [component.devices() for component in value.values] == [{device} for device in jax.devices()[:4]]
    np.testing.assert_array_equal(np.stack(value.values), [[0], [1], [2], [3]])
    assert value.values is value.values


def test_components_of_an_array_on_one_device_are_its_rows():
    value = PerReplica(jnp.arange(6).reshape(3, 2))
    np.testing.assert_array_equal(np.stack(value.values), np.arange(6).reshape(3, 2))


def test_components_of_an_array_that_every_device_has_appear_once(mesh):
    array = jax.device_put(jnp.arange(3), NamedSharding(mesh, PartitionSpec()))
    assert [int(component) for component in PerReplica(array).values] == [0, 1, 2]


def test_a_whole_remainder_is_the_one_component_of_all_replicas(mesh):
    array = jax.device_put(jnp.arange(3.0), NamedSharding(mesh, PartitionSpec()))
    solo = PerReplica(array, solo=True)
    assert (solo.num_components, solo.shape, solo.solo) == (1, (3,), True)
    np.testing.assert_array_equal(solo.values[0], [0, 1, 2])
    assert str(solo) == "PerReplica:{\n  0: tf.Tensor([0. 1. 2.], shape=(3,), dtype=float32)\n}"
    assert jax.tree.map(jnp.negative, solo).solo


def test_components_given_as_jax_arrays_numbers_and_numpy_arrays_make_the_same_value(mesh):
    from_jax = per_replica_from_components([jnp.float32(index) for index in range(4)], mesh)
    mixed = per_replica_from_components([jnp.float32(0), np.float32(1), np.float32(2), jnp.float32(3)], mesh)
    host = per_replica_from_components([np.float32(index) for index in range(4)], mesh)
    assert from_jax.array.sharding == mixed.array.sharding == host.array.sharding
    assert str(from_jax) == str(mixed) == str(host)


def test_a_wrong_number_of_components_is_refused(mesh):
    with pytest.raises(BadArgumentError, match=r"each of the 4 replicas here. Received: 3 components"):
        per_replica_from_components([1, 2, 3], mesh)


def test_components_that_differ_are_refused_replica_by_replica(mesh):
    with pytest.raises(StructureError, match=r"float64\[2\], float64\[2\], float64\[3\], int64\[2\]"):
        per_replica_from_components([np.ones(2), np.ones(2), np.ones(3), np.ones(2, int)], mesh)


def test_an_array_without_a_replica_dimension_is_refused():
    with pytest.raises(BadArgumentError, match=r"needs a leading dimension.*of shape \(\)"):
        PerReplica(jnp.float32(1))


@pytest.mark.parametrize(
    "compute",
    [
        lambda value: value + 1,
        lambda value: 1 - value,
        lambda value: np.ones(1) * value,
        lambda value: jnp.ones(1) / value,
        lambda value: value @ value,
        operator.neg,
        abs,
        lambda value: value < 2,
        lambda value: 2**value,
    ],
)
def test_arithmetic_is_refused_and_says_what_to_do(value, compute):
    with pytest.raises(
        BadTypeError,
        match=r"strategy\.run\(fn, args=\(value,\)\).*strategy\.reduce.*4 components of shape \(1,\)",
    ):
        compute(value)


@pytest.mark.parametrize(
    "convert",
    [np.asarray, jnp.sum, jnp.asarray, float, int, bool, len, lambda value: value[0], list],
)
def test_use_as_one_array_or_number_is_refused_and_says_what_to_do(value, convert):
    with pytest.raises(BadTypeError, match=r"can't be used as a single array.*experimental_local_results"):
        convert(value)


def test_it_is_a_pytree_of_one_array_that_passes_through_a_compiled_function(value):
    doubled = jax.jit(lambda given: jax.tree.map(lambda array: array * 2, given))({"x": value})["x"]
    assert is_per_replica(doubled)
    assert doubled.array.sharding == value.array.sharding
    assert [int(component[0]) for component in doubled.values] == [0, 2, 4, 6]
    assert jax.tree.leaves(value) == [value.array]


def test_inside_a_compiled_function_components_are_slices_and_printing_adds_nothing_to_the_program(value):
    printed = []

    def add_all(given):
        return sum(given.values)

    def show(given):
        printed.append((str(given), repr(given)))
        return given.array

    assert int(jax.jit(add_all)(value)[0]) == 6
    assert len(jax.make_jaxpr(show)(value).eqns) == 0
    assert "int32[4,1]" in printed[0][0]


def test_a_placeholder_in_its_place_is_shown_as_it_is():
    shape = jax.eval_shape(lambda: PerReplica(jnp.ones((2, 3))))
    assert (shape.shape, shape.num_components) == ((3,), 2)
    assert repr(shape).startswith("PerReplica(ShapeDtypeStruct(shape=(2, 3)")
    with pytest.raises(BadTypeError, match="a PerReplica around None"):
        jax.tree.unflatten(jax.tree.structure(shape), [None]) + 1


def test_what_replicas_get_for_several_steps_is_as_if_replicas_came_first():
    stacked = jnp.arange(2 * 3 * 4).reshape(2, 3, 4)
    value = StepsPerReplica(stacked)
    np.testing.assert_array_equal(value.array, np.moveaxis(np.asarray(stacked), 1, 0))
    assert (value.num_components, value.shape, value.stacked.shape) == (3, (2, 4), (2, 3, 4))
    again = jax.tree.map(lambda leaf: leaf, value)
    assert type(again) is StepsPerReplica
    # A replica has a dimension of one there, which each step takes away.
    np.testing.assert_array_equal(own_step(StepsPerReplica(stacked[0, 1:2])), stacked[0, 1])
    assert own_step(3) == 3
