"""The host has parts of arrays: each once, where they lie, and as few copies as it asks for."""

import jax
import numpy as np
import pytest
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from stratax.core import storage

MESH = Mesh(np.array(jax.devices()[:4]).reshape(2, 2), ("replica", "shard"))
VALUES = np.arange(24, dtype="float32").reshape(4, 6)


def divided(spec):
    return jax.device_put(VALUES, NamedSharding(MESH, spec))


@pytest.mark.parametrize(
    ("spec", "bounds"),
    [
        (PartitionSpec("shard"), [((0, 2), (0, 6)), ((2, 4), (0, 6))]),
        (PartitionSpec(None, "shard"), [((0, 4), (0, 3)), ((0, 4), (3, 6))]),
        (PartitionSpec(), [((0, 4), (0, 6))]),
    ],
)
def test_each_part_is_there_once_and_goes_back_where_it_was(spec, bounds):
    array = divided(spec)
    parts = storage.own_parts(array)
    assert sorted(parts) == bounds
    assert sorted(storage.find_own_indices(array.sharding, array.shape)) == bounds
    own = {where: np.asarray(part) for where, part in parts.items()}
    held = storage.HostParts(array.shape, array.dtype, array.sharding.shard_shape(array.shape), own)
    placed = storage.place_parts(held, array.sharding)
    assert placed.sharding == array.sharding
    np.testing.assert_array_equal(placed, VALUES)
    assert held.size == 24


def test_only_what_devices_have_different_parts_of_is_divided():
    assert storage.is_divided(divided(PartitionSpec("shard")))
    assert not storage.is_divided(divided(PartitionSpec()))
    assert not storage.is_divided(VALUES)
    assert not jax.jit(lambda x: storage.is_divided(x))(VALUES)


def test_what_was_read_whole_is_not_kept_by_the_array():
    array = divided(PartitionSpec("shard"))
    np.testing.assert_array_equal(storage.read_whole(array), VALUES)
    # JAX' own way keeps it.
    assert array._npy_value is None
    np.asarray(array)
    assert array._npy_value is not None
