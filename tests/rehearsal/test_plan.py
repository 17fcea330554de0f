"""Slices are compared by what a chip of them computes, and by what an example costs."""

import pytest

from stratax.rehearsal import Estimate, Failure, Memory, ProgramReport, cheapest, parse_topology, plan

SMALL = Memory(
    weights=1, slots=0, metrics=0, batch=0, other=0, results=0, temporaries=0, code=0, donated=0, reused=0
)


def report(name, seconds, links=0.0):
    topology = parse_topology(name)
    return ProgramReport(
        name="step",
        topology=topology,
        compile_seconds=1.0,
        memory=SMALL,
        examples=32 * topology.num_devices,
        estimate=Estimate(compute=seconds, memory=0.0, links=links),
    )


def failed(name):
    failure = Failure(kind="memory", message="too large")
    return ProgramReport(name="step", topology=parse_topology(name), compile_seconds=1.0, failure=failure)


def test_efficiency_is_that_of_a_chip_beside_the_smallest_slice():
    points = plan([report("v5e-64", 0.1, links=0.2), report("v5e-8", 0.1), report("v3-8", 0.5)], {})
    assert [point.report.topology.name for point in points] == ["v3:2x2", "v5e:2x4", "v5e:8x8"]
    assert [point.efficiency for point in points] == [1.0, 1.0, pytest.approx(0.5)]
    assert cheapest(points) is None


def test_a_slice_that_is_too_small_is_no_measure():
    points = plan([failed("v5e-4"), report("v5e-8", 0.1), report("v5e-16", 0.1)], {"v5e": 1.0})
    assert [point.efficiency for point in points] == [0.0, 1.0, 1.0]
    assert points[0].hours(100) is None
    # As cheap as another, and faster.
    assert cheapest(points).report.topology.name == "v5e:4x4"


def test_jobs_cost_what_their_hours_do():
    (point,) = plan([report("v5e-8", 1.0)], {"v5e": 1.5})
    assert point.price == 12.0
    assert point.hours(256 * 3600) == 1.0
    assert point.cost(256 * 7200) == 24.0
    (point,) = plan([report("v5e-8", 1.0)], {"v3": 1.5})
    assert point.price is None
    assert point.cost(100) is None
