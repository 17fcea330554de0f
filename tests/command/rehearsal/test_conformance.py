"""The conformance programs of the strategies that may run on TPUs compile for them.

Nothing is run here: `tests/distribute/test_conformance.py` does.
"""

import itertools
import json

import pytest

import stratax as sx
from stratax.command.rehearsal import Catcher, Enough, compile_for, parse_topology
from tests.cluster import forks
from tests.cluster.processes import run_tasks
from tests.command.rehearsal.devices import DEVICES, needs_libtpu
from tests.command.rehearsal.test_strategies import SLICES, caught_in, compiled
from tests.distribute.conformance import BATCHES, Training
from tests.distribute.test_conformance import STRATEGIES, mirrored
from tests.stressed import but

pytestmark = needs_libtpu

POD = "v4-2048"
FULL, REMAINDER = BATCHES[0], BATCHES[-1]


def caught_with(strategy, batches=(FULL,), *, with_tape=False):
    """The programs of a custom loop's step on these batches, none of which is run."""
    training = Training(strategy, with_tape)
    caught = []
    for batch in strategy.experimental_distribute_dataset(batches):
        # Before the first dispatch.
        catcher = Catcher(limit=0)
        with catcher.catching(), pytest.raises(Enough):
            training.step(*batch)
        caught += catcher.caught
    return caught


def collectives_in(caught, name):
    """How many collectives of each kind each program has on a slice, all of whose devices compute."""
    found = []
    for made in caught:
        report = compiled(made, name)
        assert report.num_devices == report.topology.num_devices
        kinds = [each.kind for each in report.collectives]
        found.append({kind: kinds.count(kind) for kind in kinds})
    return found


@pytest.fixture(scope="module")
def of_mirrored():
    return caught_with(mirrored(8)(), (FULL, REMAINDER), with_tape=True)


@pytest.mark.programs
@pytest.mark.parametrize("name", [*SLICES, POD])
def test_full_batches_and_remainders_compile(of_mirrored, name):
    # A batch that does not divide is computed by all replicas alike.
    assert collectives_in(of_mirrored, name) == [{"all-reduce": 1}, {}]


@pytest.mark.programs
@pytest.mark.parametrize("name", but(lambda name: name == SLICES[0], SLICES))
def test_a_model_without_a_strategy_and_one_on_one_device_compile(name):
    for strategy in (STRATEGIES["default"](), STRATEGIES["one"]()):
        (made,) = caught_with(strategy, with_tape=True)
        report = compiled(made, name)
        assert report.num_devices == 1
        assert not report.collectives


# Which of the numbers of collectives a slice has.
QUICK = {"v3-8": 0, "v4-8": 1}
# For each way to combine values, or rows that do not divide: the collectives on eight devices and on four.
OPS = {
    "mirrored3": ({}, {}),
    "unpacked": ({"all-reduce": 1}, {"all-reduce": 1}),
    "own_ops": ({"all-reduce": 1}, {"all-reduce": 1}),
    "hierarchical": ({"all-reduce": 4}, {"all-reduce": 4}),
    "one_device_sum": ({"all-reduce": 2}, {"all-reduce": 2}),
    # Four packs travel around twice; metrics are added up by themselves.
    "ring": (
        {"collective-permute": 4 * 2 * 7, "all-reduce": 1},
        {"collective-permute": 4 * 2 * 3, "all-reduce": 1},
    ),
}


# Slices of eight devices have the same.
@pytest.mark.programs
@pytest.mark.parametrize(
    ("name", "slices"),
    but(lambda name, slices: slices == QUICK, itertools.product(OPS, [QUICK, {"v5e-8": 0}])),
)
def test_each_way_to_combine_values_compiles(name, slices):
    caught = caught_with(STRATEGIES[name]())
    for slice_name, wanted in slices.items():
        (found,) = collectives_in(caught, slice_name)
        assert found == OPS[name][wanted], slice_name


@pytest.mark.programs
def test_a_ring_of_a_pod_is_a_loop():
    (made,) = caught_with(STRATEGIES["ring"]())
    found = compiled(made, POD).collectives
    assert {each.times for each in found if each.kind == "collective-permute"} == {1, None}
    assert len(found) < 200


@pytest.mark.programs
@pytest.mark.parametrize(("count", "names"), [(8, ("v3-8", "v5e-8")), (4, ("v4-8",))])
def test_variables_in_one_place_compile(count, names):
    """Each of both stages is a program; of other devices than they were made for it is said that they can't be."""
    central = sx.distribute.CentralStorageStrategy(DEVICES[:count], "/cpu:7")
    caught = caught_in(lambda: Training(central, with_tape=False).epoch())
    # On replicas, then where the variables are; a remainder is computed there, too.
    of_replicas, *others = caught
    assert len(others) == 3
    for name in names:
        assert collectives_in([of_replicas], name) == [{"all-reduce": 1}]
        for made in others:
            assert compiled(made, name).num_devices == 1
    refused = compile_for(of_replicas, parse_topology(POD))
    assert "can't be traced for others" in refused.failure.message


ON_CORES = """
import json
import jax
import stratax as sx
from tests.command.rehearsal.test_conformance import caught_with, collectives_in, SLICES, compiled
cores = jax.devices()
found = {}
for name, assigned in {"all": None, "two": cores[:2], "one": cores[3:]}.items():
    strategy = sx.distribute.TPUStrategy(experimental_device_assignment=assigned)
    caught = caught_with(strategy)
    slices = SLICES if assigned is None else SLICES[:1]
    found[name] = [[compiled(made, each).num_devices for made in caught] for each in slices]
print(json.dumps(found))
"""


@pytest.mark.programs
@pytest.mark.processes
def test_on_cores_of_a_tpu_it_compiles():
    environment = forks.environment_of_a_task() | {"STRATAX_SIMULATE": "tpu:4"}
    done = forks.run(["-c", ON_CORES], environment)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    # Whoever chooses some cores gets all of a slice; one core stays one.
    assert found == {"all": [[8], [4], [8]], "two": [[8]], "one": [[1]]}


ON_WORKERS = """
import stratax as sx
from tests.command.rehearsal.test_conformance import POD, caught_with, compiled
strategy = sx.distribute.MultiWorkerMirroredStrategy()
caught = caught_with(strategy)
if sx.cluster.current().is_chief:
    reports = [compiled(made, name) for name in ("v3-8", POD) for made in caught]
    report(found=[[each.num_devices, [one.group for one in each.collectives]] for each in reports])
"""


@pytest.mark.programs
@pytest.mark.processes
def test_what_one_of_two_workers_runs_compiles_for_all_hosts_of_a_slice():
    chief, other = run_tasks(2, ON_WORKERS, devices=2)
    assert (chief.code, other.code) == (0, 0), chief.err + other.err
    assert chief.report["found"] == [[8, [8]], [1024, [1024]]]
