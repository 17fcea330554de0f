"""What strategies are composed of, and what their parts say they can do."""

import jax
import jax.numpy as jnp
import pytest

import stratax as sx
from stratax import errors
from stratax.core import regions
from stratax.distribute import CentralStorageStrategy, MirroredStrategy, OneDeviceStrategy, Strategy
from stratax.distribute.strategies import Alone, Execution, Placement, StrategyMembership, UpdatesOnce
from stratax.distribute.strategies._extended import StrategyExtended, on_devices
from stratax.distribute.strategies._placement import OnDevices
from stratax.distribute.strategies._strategy_input import StrategyInput

TWO = ["/cpu:0", "/cpu:1"]
STRATEGIES = {
    "one device": lambda: OneDeviceStrategy("/cpu:1"),
    "mirrored": lambda: MirroredStrategy(TWO),
    "central": lambda: CentralStorageStrategy(TWO, "/cpu:2"),
    "central, one device": lambda: CentralStorageStrategy(TWO[:1]),
    "workers, alone": sx.distribute.MultiWorkerMirroredStrategy,
}


@pytest.fixture(params=STRATEGIES)
def strategy(request):
    return STRATEGIES[request.param]()


def traced_placement(strategy):
    """Where a program that runs the strategy has its variables: while it computes, and between programs."""
    with regions.ProgramRegion() as region:
        strategy.extended.place_program()
    return region.placement, region.storage


def test_every_strategy_has_one_of_each_part(strategy):
    extended = strategy.extended
    assert isinstance(extended, StrategyExtended)
    assert isinstance(extended.placement, Placement)
    assert isinstance(extended.membership, StrategyMembership)
    assert isinstance(extended.execution, Execution)
    assert isinstance(extended.input, StrategyInput)


def test_only_storage_apart_from_the_replicas_is_updated_once():
    updates_once = {
        name: isinstance(make().extended.placement, UpdatesOnce) for name, make in STRATEGIES.items()
    }
    assert {name for name, does in updates_once.items() if does} == {"central"}


def test_a_program_has_its_variables_where_the_placement_says():
    placement, storage = traced_placement(MirroredStrategy(TWO))
    assert placement == storage
    assert len(placement.device_set) == 2
    placement, storage = traced_placement(CentralStorageStrategy(TWO, "/cpu:2"))
    assert len(placement.device_set) == 2
    assert storage.device_set == {jax.devices()[2]}
    placement, storage = traced_placement(OneDeviceStrategy("/cpu:1"))
    assert placement == storage == jax.sharding.SingleDeviceSharding(jax.devices()[1])


@pytest.mark.parametrize("extended", [None, [jnp.zeros(())], StrategyExtended])
def test_a_strategy_is_made_of_its_parts(extended):
    with pytest.raises(errors.BadTypeError, match=r"Expected: a StrategyExtended. Received: extended="):
        Strategy(extended)


def test_parts_can_be_exchanged_one_by_one():
    class Second(Alone):
        """A process that leaves writing to another one."""

        is_chief = False

    class Mixed(Strategy):
        def __init__(self):
            placement = OnDevices(jax.sharding.SingleDeviceSharding(jax.devices()[3]))
            super().__init__(on_devices(self, jax.devices()[3:4], placement=placement, membership=Second()))

    strategy = Mixed()
    with strategy.scope():
        variable = sx.Variable(1.0)
    assert variable.value.devices() == {jax.devices()[3]}
    assert not strategy.extended.membership.is_chief
    assert float(strategy.run(lambda: variable + 1)) == 2.0


def test_replicas_are_called_for_outside_of_programs(strategy):
    value = strategy.extended.call_for_each_replica(lambda x: x + 1.0, args=(2.0,))
    found = [float(each) for each in strategy.experimental_local_results(value)]
    assert found == [3.0] * strategy.num_replicas_in_sync
