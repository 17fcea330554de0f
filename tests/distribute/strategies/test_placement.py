"""Where placements put variables, and what they tell programs."""

import jax
import numpy as np
import pytest

import stratax as sx
from stratax import errors
from stratax.core import regions
from stratax.distribute.strategies._placement import OnDevices, OnOtherDevice, copies_on


def test_first_values_go_to_every_replica():
    placement = OnDevices(copies_on(jax.devices()[:2]))
    variables = [sx.Variable(0.0), sx.Variable([0.0, 0.0])]
    placement.place(variables, [np.float32(1.0), np.full(2, 2.0, "float32")])
    assert [variable.numpy().tolist() for variable in variables] == [1.0, [2.0, 2.0]]
    assert all(len(variable.value.devices()) == 2 for variable in variables)


def test_first_values_go_to_the_device_that_keeps_them():
    storage = jax.sharding.SingleDeviceSharding(jax.devices()[3])
    placement = OnOtherDevice(copies_on(jax.devices()[:2]), storage)
    variable = sx.Variable(0.0)
    placement.place([variable], [np.float32(1.0)])
    assert variable.value.devices() == {jax.devices()[3]}
    region = regions.ProgramRegion()
    placement.prepare(region)
    assert region.storage == storage
    assert region.placement == placement.sharding != storage


def test_variables_hold_their_arrays_themselves_unless_a_placement_says_otherwise():
    assert OnDevices(copies_on(jax.devices()[:1])).store_of(sx.Variable(0.0)) is None


def test_two_placements_in_one_program_are_refused():
    region = regions.ProgramRegion()
    OnDevices(copies_on(jax.devices()[:2])).prepare(region)
    OnDevices(copies_on(jax.devices()[:2])).prepare(region)
    with pytest.raises(
        errors.StrategyError, match=r"two strategies on different devices.*Received: one that"
    ):
        OnDevices(copies_on(jax.devices()[2:4])).prepare(region)
