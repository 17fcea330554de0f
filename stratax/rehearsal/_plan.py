"""One program on slices of several sizes: how it scales, and what it costs (rehearsal layer)."""

import dataclasses
from collections.abc import Mapping, Sequence

from stratax.rehearsal._report import ProgramReport


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Point:
    """A program on one slice, beside others.

    Attributes:
        report: What it takes there.
        efficiency: Its examples per second and chip, as a share of those on the smallest slice of its curve that it
            fits; 0 where it does not fit.
        price: What the slice costs in an hour; None where no price is known.
    """

    report: ProgramReport
    efficiency: float
    price: float | None

    def hours(self, examples: float) -> float | None:
        """Return how long a job of so many examples takes at least; None where it does not fit."""
        speed = self.report.examples_per_second
        return examples / speed / 3600 if self.report.fits and speed else None

    def cost(self, examples: float) -> float | None:
        """Return what a job of so many examples costs at least; None where it does not fit or has no price."""
        hours = self.hours(examples)
        return None if hours is None or self.price is None else hours * self.price


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Curve:
    """Slices of one generation, by size, with one way to choose the batch.

    Attributes:
        generation: The generation's name.
        batch: The global batch on all of them; 0 where it grows with the slice.
        points: A point for each slice.
    """

    generation: str
    batch: int
    points: Sequence[Point]

    @property
    def turn(self) -> Point | None:
        """The smallest slice that communication holds up; None if there is none among these."""
        return next((each for each in self.points if _bound(each) == "links"), None)


def plan(reports: Sequence[ProgramReport], prices: Mapping[str, float]) -> list[Curve]:
    """Compare what one program takes on several slices.

    Args:
        reports: A report for each slice and batch.
        prices: What a chip costs in an hour, by the name of its generation (``"v5e"``).

    Returns:
        A curve for each generation and batch, in the order of these.
    """
    grouped: dict[tuple[str, int], list[ProgramReport]] = {}
    for report in reports:
        grouped.setdefault((report.topology.generation.name, report.batch), []).append(report)
    return [
        Curve(generation=name, batch=batch, points=_points(grouped[name, batch], prices))
        for name, batch in sorted(grouped)
    ]


def _points(reports: Sequence[ProgramReport], prices: Mapping[str, float]) -> list[Point]:
    first = 0.0
    points = []
    for report in sorted(reports, key=lambda each: each.topology.num_chips):
        topology = report.topology
        each = report.examples_per_second / topology.num_chips if report.fits else 0.0
        first = first or each
        price = prices.get(topology.generation.name)
        points.append(
            Point(
                report=report,
                efficiency=each / first if first else 0.0,
                price=None if price is None else price * topology.num_chips,
            )
        )
    return points


def _bound(point: Point) -> str:
    estimate = point.report.estimate
    return estimate.bound if point.report.fits and estimate is not None else ""


def cheapest(curves: Sequence[Curve]) -> Point | None:
    """Return where an example costs least, the fastest of these; None where nothing fits or no price is known."""
    points = [point for curve in curves for point in curve.points]
    priced = [
        (point.price / point.report.examples_per_second, -point.report.examples_per_second, index)
        for index, point in enumerate(points)
        if point.report.fits and point.price is not None and point.report.examples_per_second
    ]
    return points[min(priced)[2]] if priced else None
