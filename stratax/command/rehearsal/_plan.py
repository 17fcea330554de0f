"""One program on slices of several sizes: how it scales, and what it costs (rehearsal layer)."""

import dataclasses
from collections.abc import Mapping, Sequence

from stratax.command.rehearsal._report import ProgramReport


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Point:
    """A program on one slice, beside others.

    Attributes:
        report: What it takes there.
        efficiency: Its examples per second and chip, as a share of the most on any slice of its curve; 0 where it does
            not fit.
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
        return next((each for each in self.points if _describe_bound(each) in ("links", "latency")), None)

    @property
    def too_short(self) -> Point | None:
        """The smallest slice on which a step is shorter than its latencies; None if there is none among these."""
        return next((each for each in self.points if _is_too_short(each)), None)

    @property
    def smallest(self) -> Point | None:
        """The smallest slice that the program fits; None if there is none."""
        return next((each for each in self.points if each.report.fits), None)


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
    reports = sorted(reports, key=lambda each: each.topology.num_chips)
    speeds = [each.examples_per_second / each.topology.num_chips if each.fits else 0.0 for each in reports]
    # Not the smallest slice's: where parts of a batch fit into a chip's caches, a larger one computes more with each.
    most = max(speeds)
    points = []
    for report, speed in zip(reports, speeds, strict=True):
        price = prices.get(report.topology.generation.name)
        points.append(
            Point(
                report=report,
                efficiency=speed / most if most else 0.0,
                price=None if price is None else price * report.topology.num_chips,
            )
        )
    return points


def _is_too_short(point: Point) -> bool:
    estimate = point.report.estimate
    return point.report.fits and estimate is not None and estimate.is_shorter_than_latencies


def _describe_bound(point: Point) -> str:
    estimate = point.report.estimate
    return estimate.bound if point.report.fits and estimate is not None else ""


def cheapest(curves: Sequence[Curve]) -> Point | None:
    """Return where an example costs least, the fastest of these; None where nothing fits or no price is known.

    A slice on which a step is shorter than its latencies counts only if there is no other; then it is the cheapest to
    rent: what larger ones would compute meanwhile is nothing that this program asks for.
    """
    priced = [
        point
        for curve in curves
        for point in curve.points
        if point.report.fits and point.price is not None and point.report.examples_per_second
    ]
    busy = [point for point in priced if not _is_too_short(point)]
    if busy:
        return min(busy, key=lambda each: (each.cost(1), -each.report.examples_per_second))
    return min(priced, key=lambda each: (each.price, -each.report.examples_per_second), default=None)
