"""Partitioners divide as TensorFlow's do."""

import pytest

from stratax import errors
from stratax.parameter_servers.remote import FixedShardsPartitioner, MaxSizePartitioner, MinSizePartitioner
from stratax.parameter_servers.remote._partitioners import num_shards_of

# What TensorFlow 2.21's partitioners of the same arguments give for these shapes of float32.
GOLDEN = [
    (FixedShardsPartitioner(2), (10, 3), [2, 1]),
    (FixedShardsPartitioner(20), (10, 3), [10, 1]),
    (FixedShardsPartitioner(3), (7,), [3]),
    (MinSizePartitioner(), (1000, 1000), [1, 1]),
    (MinSizePartitioner(max_shards=8), (1000, 1000), [8, 1]),
    (MinSizePartitioner(min_shard_bytes=1 << 20, max_shards=8), (1000, 1000), [4, 1]),
    (MinSizePartitioner(min_shard_bytes=4, max_shards=10), (6, 1), [6, 1]),
    (MinSizePartitioner(min_shard_bytes=4, max_shards=2), (6, 1), [2, 1]),
    (MaxSizePartitioner(max_shard_bytes=4), (6, 1), [6, 1]),
    (MaxSizePartitioner(max_shard_bytes=4, max_shards=2), (6, 1), [2, 1]),
    (MaxSizePartitioner(max_shard_bytes=1024), (6, 1), [1, 1]),
    (MaxSizePartitioner(max_shard_bytes=1), (4, 5), [4, 1]),
    (MaxSizePartitioner(max_shard_bytes=1 << 20), (1000, 1000), [4, 1]),
]


@pytest.mark.parametrize(("partitioner", "shape", "expected"), GOLDEN)
def test_variables_have_as_many_shards_as_in_tensorflow(partitioner, shape, expected):
    assert partitioner(shape, "float32") == expected
    assert num_shards_of(partitioner, shape, "float32") == expected[0]


def test_a_scalar_and_what_has_no_rows_are_not_divided():
    assert num_shards_of(FixedShardsPartitioner(3), (), "float32") == 1
    assert num_shards_of(FixedShardsPartitioner(3), (0, 4), "float32") == 1


@pytest.mark.parametrize(
    "make",
    [
        lambda: FixedShardsPartitioner(0),
        lambda: MinSizePartitioner(min_shard_bytes=0),
        lambda: MinSizePartitioner(max_shards=0),
        lambda: MaxSizePartitioner(max_shard_bytes=0),
        lambda: MaxSizePartitioner(max_shard_bytes=4, max_shards=0),
    ],
)
def test_numbers_below_one_are_refused(make):
    with pytest.raises(ValueError, match="must be positive"):
        make()


@pytest.mark.parametrize("parts", [[1, 2], [0, 1], [11, 1], [2]])
def test_a_partitioner_of_a_users_own_divides_by_rows(parts):
    with pytest.raises(errors.BadArgumentError, match="divided by its rows"):
        num_shards_of(lambda shape, dtype: parts, (10, 2), "float32")
