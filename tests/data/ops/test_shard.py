"""Shards are a partition."""

import collections

from hypothesis import given, settings
from hypothesis import strategies as st

from stratax.data import Dataset
from tests.data.reference import apply_chain, as_lists


@settings(max_examples=60, deadline=None)
@given(
    st.permutations(["shuffle", "shard", "repeat", "map"]),
    st.integers(1, 30),
    st.integers(1, 4),
    st.integers(0, 9),
)
def test_shards_are_a_partition_in_any_order_of_shuffle_and_shard(order, n, workers, seed):
    found = collections.Counter()
    for worker in range(workers):
        arguments = {"shuffle": (seed,), "shard": (workers, worker), "repeat": (2,), "map": ()}
        chain = [(name, *arguments[name]) for name in order]
        found.update(as_lists(apply_chain(Dataset.range(n), chain)))
    assert found == collections.Counter({2 * i + 1: 2 for i in range(n)})
