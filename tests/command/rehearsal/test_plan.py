"""Slices are compared by what a chip of them computes, and by what an example costs."""

import pytest

from stratax.command.rehearsal import Estimate, Failure, Memory, ProgramReport, cheapest, parse_topology, plan

SMALL = Memory(
    weights=1, slots=0, metrics=0, batch=0, other=0, results=0, temporaries=0, code=0, donated=0, reused=0
)


def report(name, seconds, links=0.0, batch=0, dispatch=0.0):
    topology = parse_topology(name)
    return ProgramReport(
        name="step",
        topology=topology,
        compile_seconds=1.0,
        memory=SMALL,
        examples=batch or 32 * topology.num_devices,
        estimate=Estimate(compute=seconds, memory=0.0, links=links, dispatch=dispatch, hidden=links),
        batch=batch,
    )


def failed(name, kind="memory", batch=0):
    failure = Failure(kind=kind, message="too large")
    topology = parse_topology(name)
    return ProgramReport(name="step", topology=topology, compile_seconds=1.0, failure=failure, batch=batch)


def names(curve):
    return [point.report.topology.name for point in curve.points]


def test_efficiency_is_that_of_a_chip_beside_the_smallest_slice():
    v3, v5e = plan([report("v5e-64", 0.1, links=0.2), report("v5e-8", 0.1), report("v3-8", 0.5)], {})
    assert (v3.generation, names(v3)) == ("v3", ["v3:2x2"])
    assert (v5e.generation, names(v5e)) == ("v5e", ["v5e:2x4", "v5e:8x8"])
    assert [point.efficiency for point in (*v3.points, *v5e.points)] == [1.0, 1.0, pytest.approx(0.5)]
    assert cheapest([v3, v5e]) is None


def test_each_global_batch_is_a_curve_of_its_own():
    reports = [report("v5e-8", 0.2, batch=64), report("v5e-16", 0.2, links=0.3, batch=64)]
    reports += [report("v5e-8", 0.4, batch=256), report("v5e-16", 0.2, batch=256), report("v5e-8", 0.1)]
    curves = plan(reports, {"v5e": 1.0})
    assert [curve.batch for curve in curves] == [0, 64, 256]
    assert [point.efficiency for point in curves[1].points] == [1.0, pytest.approx(1 / 3)]
    assert [point.efficiency for point in curves[2].points] == [1.0, 1.0]
    assert curves[1].turn.report.topology.name == "v5e:4x4"
    assert curves[2].turn is None


def test_the_cheapest_is_sought_over_all_curves():
    dear, cheap = report("v5e-8", 0.2, batch=64), report("v3-8", 0.2, batch=64)
    prices = {"v5e": 1.0, "v3": 0.5}
    assert cheapest(plan([dear, cheap], prices)).report is cheap
    assert cheapest(plan([dear, failed("v3-8", batch=64)], prices)).report is dear


def test_a_slice_that_is_too_small_is_no_measure():
    (curve,) = plan([failed("v5e-4"), report("v5e-8", 0.1), report("v5e-16", 0.1)], {"v5e": 1.0})
    assert [point.efficiency for point in curve.points] == [0.0, 1.0, 1.0]
    assert curve.points[0].hours(100) is None
    # As cheap as another, and faster.
    assert cheapest([curve]).report.topology.name == "v5e:4x4"


def test_jobs_cost_what_their_hours_do():
    (curve,) = plan([report("v5e-8", 1.0)], {"v5e": 1.5})
    (point,) = curve.points
    assert point.price == 12.0
    assert point.hours(256 * 3600) == 1.0
    assert point.cost(256 * 7200) == 24.0
    (curve,) = plan([report("v5e-8", 1.0)], {"v3": 1.5})
    assert curve.points[0].price is None
    assert curve.points[0].cost(100) is None


def test_no_slice_is_more_than_efficient():
    # With a quarter of the batch on each device, what a step reads and writes stays on the chip.
    small, large = report("v5e-8", 0.4, batch=64), report("v5e-16", 0.1, batch=64)
    (curve,) = plan([small, large], {"v5e": 1.0})
    assert [point.efficiency for point in curve.points] == [pytest.approx(0.5), 1.0]
    assert cheapest([curve]).report is large


def test_what_is_shorter_than_its_latencies_gets_the_smallest_slice():
    names_ = ("v5e-8", "v5e-16", "v5e-256")
    (curve,) = plan([report(name, 1e-8, dispatch=2e-4) for name in names_], {"v5e": 1.0})
    assert [point.efficiency for point in curve.points] == [1.0, 1.0, 1.0]
    assert curve.too_short is curve.smallest is curve.points[0]
    assert cheapest([curve]) is curve.points[0]
    # With a batch that is divided it is so from some slice on.
    seconds = (1.0, 0.5, 1e-4)
    reports = [
        report(name, each, dispatch=2e-4, batch=512) for name, each in zip(names_, seconds, strict=True)
    ]
    (curve,) = plan(reports, {"v5e": 1.0})
    assert curve.too_short is curve.points[2]
    assert cheapest([curve]) is curve.points[1]
