"""Cross-device operations of a user's own."""

import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from stratax.distribute.collectives import CrossDeviceOps
from stratax.distribute.replicas._values import per_replica_from_components
from stratax.errors import BadTypeError, StructureError
from tests.distribute.collectives.test_cross_device_ops import replica_mesh


def test_a_users_own_ops_are_really_called():
    class Maximum(CrossDeviceOps):
        calls = 0

        def reduce_in_replica(self, op, arrays, axis_name, num_replicas):
            self.calls += 1
            return [lax.pmax(array, axis_name) for array in arrays]

    ops = Maximum()
    value = per_replica_from_components([np.float32(3), np.float32(5)], replica_mesh(2))
    assert float(ops.reduce("sum", value)) == 5.0
    assert ops.calls == 1


def test_ops_with_a_wrong_signature_are_refused_where_they_are_defined():
    with pytest.raises(
        BadTypeError, match=r"Wrong\.reduce_in_replica must take \(self, op, arrays, axis_name"
    ):

        class Wrong(CrossDeviceOps):
            def reduce_in_replica(self, arrays):
                return arrays


@pytest.mark.parametrize("result", [None, [], [jnp.ones(3)]], ids=repr)
def test_ops_that_return_something_else_are_named(result):
    class Forgetful(CrossDeviceOps):
        def reduce_in_replica(self, op, arrays, axis_name, num_replicas):
            return result

    value = per_replica_from_components([np.ones(2)] * 2, replica_mesh(2))
    with pytest.raises(
        StructureError, match=r"Forgetful\.reduce_in_replica must return a list .* \[\(2,\)\]"
    ):
        Forgetful().reduce("sum", value)
