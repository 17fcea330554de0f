"""What several tests compile alike is compiled once: tests/conftest.py."""

import collections

import jax
import jax.numpy as jnp
import pytest


@pytest.fixture
def counts():
    found = collections.Counter()
    listener = lambda event, **_: found.update([event.rpartition("/")[2]])  # noqa: E731
    jax.monitoring.register_event_listener(listener)
    yield found
    jax.monitoring.unregister_event_listener(listener)


def test_a_program_like_an_earlier_one_is_read(counts):
    x = jnp.arange(7.0)
    results = [jax.jit(lambda x: jnp.tanh(x) @ x + 0.123)(x) for _ in range(2)]
    assert results[0] == results[1]
    assert counts["cache_hits"] >= 1
