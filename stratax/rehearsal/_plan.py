"""One program on slices of several sizes: how it scales, and what it costs (rehearsal layer)."""

import dataclasses
from collections.abc import Mapping, Sequence

from stratax.rehearsal._report import ProgramReport


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Point:
    """A program on one slice, beside others.

    Attributes:
        report: What it takes there.
        efficiency: Its examples per second and chip, as a share of those on the smallest slice of its generation that
            it fits; 0 where it does not fit.
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


def plan(reports: Sequence[ProgramReport], prices: Mapping[str, float]) -> list[Point]:
    """Compare what one program takes on several slices.

    Args:
        reports: A report for each slice.
        prices: What a chip costs in an hour, by the name of its generation (``"v5e"``).

    Returns:
        A point for each report, by generation and size.
    """
    ordered = sorted(reports, key=lambda each: (each.topology.generation.name, each.topology.num_chips))
    first: dict[str, float] = {}
    points = []
    for report in ordered:
        topology = report.topology
        name = topology.generation.name
        each = report.examples_per_second / topology.num_chips if report.fits else 0.0
        best = first.setdefault(name, each) if each else first.get(name, 0.0)
        price = prices[name] * topology.num_chips if name in prices else None
        points.append(Point(report=report, efficiency=each / best if best else 0.0, price=price))
    return points


def cheapest(points: Sequence[Point]) -> Point | None:
    """Return where an example costs least, the fastest of these; None where nothing fits or no price is known."""
    priced = [
        (point.price / point.report.examples_per_second, -point.report.examples_per_second, index)
        for index, point in enumerate(points)
        if point.report.fits and point.price is not None and point.report.examples_per_second
    ]
    return points[min(priced)[2]] if priced else None
