"""What every execution of a strategy does, and what only one over a mesh has."""

import jax.numpy as jnp
import pytest

import stratax as sx
from stratax import errors
from stratax.distribute import CentralStorageStrategy, MirroredStrategy, OneDeviceStrategy, ReduceOp, Strategy
from stratax.distribute.strategies import StrategyExtended
from stratax.distribute.strategies._execution import Execution, OverMesh

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


class InTurn(Execution):
    """Two replicas that run one after the other, outside of programs: no more than an execution has to be."""

    num_replicas = 2

    def __init__(self):
        self.calls = []

    def _each(self, fn, args, kwargs):
        return [fn(*args, **kwargs) for _ in range(self.num_replicas)]

    def run(self, fn, args, kwargs):
        self.calls.append(("run", args, kwargs))
        return self._each(fn, args, kwargs)

    def call_for_each_replica(self, fn, args, kwargs, *, averages_gradients=False):
        self.calls.append(("in a program", args, kwargs, averages_gradients))
        return self._each(fn, args, kwargs)

    def reduce(self, op, value, axis):
        self.calls.append(("reduce", op, axis))
        return sum(value)

    def gather(self, value, axis):
        self.calls.append(("gather", axis))
        return list(value)

    def values_from_function(self, value_fn):
        return [value_fn(index) for index in range(self.num_replicas)]

    def to_all(self, array):
        return array


def in_turn():
    """A strategy of such an execution, beside one device's other parts."""
    parts = OneDeviceStrategy("/cpu:1").extended
    execution = InTurn()
    extended = StrategyExtended(
        placement=parts.placement, membership=parts.membership, execution=execution, input=parts.input
    )
    return Strategy(extended), execution


def test_a_strategy_hands_its_execution_checked_arguments():
    made, execution = in_turn()
    assert made.run(lambda x, y: x + y, (1,), {"y": 2}) == [3, 3]
    assert made.run(lambda: 4) == [4, 4]
    assert made.reduce("sum", [1, 2], axis=None) == 3
    assert made.gather([1, 2], axis=0) == [1, 2]
    assert made.extended.call_for_each_replica(lambda x: x, args=(5,)) == [5, 5]
    assert execution.calls == [
        ("run", (1,), {"y": 2}),
        ("run", (), {}),
        ("reduce", ReduceOp.SUM, None),
        ("gather", 0),
        ("run", (5,), {}),
    ]
    with pytest.raises(errors.BadTypeError, match="expects a function"):
        made.run(3)
    with pytest.raises(errors.BadArgumentError, match=r"reduce_op must be ReduceOp\.SUM"):
        made.reduce("max", [1, 2], axis=None)
    assert len(execution.calls) == 5


def test_an_execution_knows_of_no_devices_unless_it_says_so():
    made, execution = in_turn()
    assert execution.devices == made.devices == ()
    assert made.num_replicas_in_sync == 2
    for name in ("mesh", "cross_device_ops"):
        with pytest.raises(
            errors.StrategyError, match=rf"strategy\.{name} belongs to strategies whose replicas"
        ):
            getattr(made, name)


def test_an_execution_has_all_that_strategies_call():
    for kind, missing in (
        (Execution, "call_for_each_replica.*num_replicas.*values_from_function"),
        (OverMesh, "mesh"),
    ):
        with pytest.raises(TypeError, match=missing):
            kind()


def test_the_mesh_is_the_execution_s(strategy):
    execution = strategy.extended.execution
    assert isinstance(execution, OverMesh)
    assert strategy.mesh is execution.mesh
    assert strategy.devices == tuple(execution.mesh.devices.flat)
    assert strategy.cross_device_ops is execution.cross_device_ops


def test_outside_of_programs_there_is_nothing_to_place(strategy):
    strategy.extended.place_program()
    found = strategy.extended.call_for_each_replica(lambda: jnp.ones(()))
    assert (
        list(map(float, strategy.experimental_local_results(found))) == [1.0] * strategy.num_replicas_in_sync
    )


def test_the_call_that_tensorflow_has_runs_replicas_in_a_program():
    strategy = MirroredStrategy(TWO)

    @sx.function
    def program():
        ids = strategy.extended.call_for_each_replica(
            lambda: sx.distribute.get_replica_context().replica_id_in_sync_group
        )
        return strategy.reduce("sum", ids, axis=None)

    assert int(program()) == 1
