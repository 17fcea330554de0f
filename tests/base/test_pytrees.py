"""Types that JAX is to take apart are registered as soon as it is there."""

import jax

from stratax.base import pytrees


class Pair:
    def __init__(self, first, second):
        self.first, self.second = first, second


def test_values_of_a_registered_type_are_taken_apart_and_put_together():
    pytrees.register(Pair, lambda pair: ((pair.first, pair.second), None), lambda _, parts: Pair(*parts))
    doubled = jax.tree.map(lambda leaf: 2 * leaf, Pair(1, 2))
    assert (doubled.first, doubled.second) == (2, 4)
