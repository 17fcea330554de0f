"""Arrangements of a ShardedStrategy: those that could fit are tried, and the fastest that does is proposed."""

import dataclasses

import jax
import keras
import numpy as np
import pytest
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import stratax as sx
from stratax.command.rehearsal import (
    Catcher,
    Estimate,
    Memory,
    ProgramReport,
    compile_for,
    list_arrangements,
    parse_topology,
    propose,
)
from stratax.core.regions import MadeProgram
from stratax.distribute.strategies import Arrangement
from tests.command.rehearsal.devices import DEVICES, needs_libtpu

GIB = 2**30
V5E = parse_topology("v5e:4x4")


def made(spec, size=GIB, axes=(1, 4, 2)):
    mesh = Mesh(np.asarray(jax.devices()[: np.prod(axes)]).reshape(axes), ("replica", "shard", "model"))
    variable = keras.Variable(np.zeros((2, 2), "float32"))
    types = [jax.ShapeDtypeStruct((size // 4,), np.dtype("float32"), sharding=NamedSharding(mesh, spec))]
    return MadeProgram(name="step", compiled=None, donated=(), arguments=(types,), variables={0: [variable]})


def pairs(found):
    return [(each.replicas, each.model) for each in found]


def test_groups_are_tried_as_far_as_their_variables_leave_room():
    # 48 GiB in 16 parts, or in 8 or 4, or too large with two.
    found = list_arrangements(made(PartitionSpec("shard"), 48 * GIB, (1, 8, 1)), V5E)
    assert pairs(found) == [(1, 1), (2, 1), (4, 1)]


def test_neighbours_are_tried_where_a_rule_divides_by_them_and_the_batch_divides():
    by_rule = made(PartitionSpec("model"), 8 * GIB)
    assert pairs(list_arrangements(by_rule, V5E, 8)) == [
        *((1, 2), (4, 2), (8, 2)),
        *((1, 4), (2, 4), (4, 4)),
        *((1, 8), (2, 8)),
    ]
    assert {each.model for each in list_arrangements(made(PartitionSpec("shard"), axes=(1, 8, 1)), V5E)} == {
        1
    }


def test_programs_whose_devices_have_copies_are_not_arranged():
    assert list_arrangements(made(PartitionSpec(), axes=(8, 1, 1)), V5E) == []


def test_the_fastest_that_fits_is_proposed():
    def report(seconds, total):
        sizes = {field.name: 0 for field in dataclasses.fields(Memory)} | {"weights": total}
        return ProgramReport(
            name="step",
            topology=V5E,
            compile_seconds=1.0,
            memory=Memory(**sizes),
            examples=16,
            estimate=Estimate(compute=seconds, memory=0.0, links=0.0),
        )

    slow, fast, large = report(2.0, GIB), report(1.0, GIB), report(0.5, 17 * GIB)
    (proposal,) = propose([slow, fast, large])
    assert proposal.best is fast
    assert propose([large])[0].best is None


@needs_libtpu
@pytest.mark.parametrize(("replicas", "model"), [(2, 1), (2, 2)])
def test_a_program_is_compiled_as_another_strategy_would_have_it(replicas, model):
    strategy = sx.distribute.ShardedStrategy(DEVICES[:2], layout={"up/kernel": (None, "model")})
    with strategy.scope():
        layers = [keras.layers.Dense(1024, name="up"), keras.layers.Dense(1024, name="down")]
        net = keras.Sequential([keras.Input((1024,)), *layers])
        net.compile("sgd", "mse")
    catcher = Catcher()
    with catcher.catching():
        net.fit(np.zeros((4, 1024), "float32"), np.zeros((4, 1024), "float32"), batch_size=4, verbose=0)
    arrangement = Arrangement(replicas=replicas, model=model)
    report = compile_for(catcher.caught[0], V5E, 64, arrangement)
    assert report.fits, report.failure
    assert report.mesh == {"replica": replicas, "shard": 16 // replicas // model, "model": model}
    assert report.examples == 64
    down, up = (
        next(each for each in report.held if f"{name}/kernel" in each.path) for name in ("down", "up")
    )
    assert down.bytes * (16 // replicas // model) == down.bytes_in_all == 4 * 2**20
    assert up.bytes * model == up.bytes_in_all
    # The strategy itself is what it was.
    assert dict(strategy.mesh.shape) == {"replica": 1, "shard": 2, "model": 1}
    assert strategy.num_replicas_in_sync == 2
