"""One process is in step with nobody, and is the chief."""

import pytest

import stratax as sx
from stratax.distribute import CentralStorageStrategy, MirroredStrategy, OneDeviceStrategy
from stratax.distribute.strategies import InStep

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


def test_one_process_is_in_step_with_nobody_and_is_the_chief(strategy):
    membership = strategy.extended.membership
    assert not isinstance(membership, InStep)
    assert membership.is_chief
    assert membership.gather(b"own") == [b"own"]
    assert membership.agree([1, 2]) == [1, 2]
    assert not membership.loop().is_shared
