"""A strategy of one device gives plain arrays on it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import stratax as sx
from stratax.distribute import OneDeviceStrategy, PerReplica


@pytest.fixture(scope="module")
def one():
    return OneDeviceStrategy("/cpu:1")


def test_run_under_one_device_gives_plain_arrays_on_it(one):
    result = one.run(lambda x: x + 1, args=(np.ones(2, "float32"),))
    assert isinstance(result, jax.Array)
    v = sx.Variable(1.0)
    doubled = one.run(lambda: v.assign(v * 2))
    assert doubled.devices() == {one.devices[0]}
    assert float(v.value) == 2


def test_one_device_unpacks_a_per_replica_of_one_component(one):
    assert one.run(lambda x: x, args=(PerReplica(jnp.ones((1, 3))),)).shape == (3,)
