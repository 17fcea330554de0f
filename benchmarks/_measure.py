"""Measuring two programs in turns, so that what else the machine does meets both alike."""

import dataclasses
import gc
import statistics
import time
from collections.abc import Callable, Iterable
from typing import Any

_FEWEST_ROUNDS = 5
_LONG_SECONDS = 30.0

Run = Callable[[int], None]
"""Does its work so many times and returns when all of it is finished."""


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """How long to measure.

    Attributes:
        rounds: How often each side takes its turn, if turns are short; long ones are fewer, at least 5.
        seconds: How long a turn lasts, about, if one piece of work does not take longer.
        processes: How many fresh processes measure what happens only once in one.
    """

    rounds: int
    seconds: float
    processes: int

    @classmethod
    def of(cls, *, quick: bool) -> "Plan":
        """The plan of a whole run, or of one that only shows that everything works."""
        if quick:
            return cls(rounds=3, seconds=0.1, processes=1)
        return cls(rounds=15, seconds=0.3, processes=5)


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Figure:
    """What a case found.

    Attributes:
        value: The figure that has a target.
        low: Its first quartile over the rounds.
        high: Its third quartile.
        details: What it was made of, by name, with units in the names.
    """

    value: float
    low: float
    high: float
    details: dict[str, float] = dataclasses.field(default_factory=dict)


def in_turns(ours: Run, theirs: Run, *, plan: Plan, lead: int = 0) -> tuple[list[float], list[float]]:
    """Seconds per piece of work on both sides, round by round; who goes first changes.

    Args:
        ours: One side.
        theirs: The other; how many pieces make a turn is settled with it, for both.
        plan: How long to measure.
        lead: How many pieces go before every turn and do not count: what a side made while the other had its turn.

    Returns:
        Two lists of equal length.
    """
    ours(1)
    count = _pieces(theirs, plan.seconds)
    _time(ours, count)
    pairs: list[tuple[float, float]] = []
    began = time.perf_counter()
    for turn in range(plan.rounds):
        if turn >= _FEWEST_ROUNDS and time.perf_counter() - began > _LONG_SECONDS:
            break
        if turn % 2:
            first = _time(ours, count, lead)
            pairs.append((first, _time(theirs, count, lead)))
        else:
            first = _time(theirs, count, lead)
            pairs.append((_time(ours, count, lead), first))
    return [pair[0] for pair in pairs], [pair[1] for pair in pairs]


def passes(elements: Iterable[Any]) -> Run:
    """Goes through all elements, which is one piece of work."""

    def run(count: int) -> None:
        for _ in range(count):
            for _ in elements:
                pass

    return run


def ratio(numerators: list[float], denominators: list[float], *, unit: str = "us", **names: str) -> Figure:
    """The median of the rounds' ratios, with the quartiles and both sides' medians.

    Args:
        numerators: Seconds, one for each round.
        denominators: Seconds, likewise.
        unit: The unit of the details: `us`, `ms` or `s`.
        **names: `numerator` and `denominator`: what the details call them.

    Returns:
        The figure.
    """
    ratios = [a / b for a, b in zip(numerators, denominators, strict=True)]
    scale = {"us": 1e6, "ms": 1e3, "s": 1.0}[unit]
    details = {
        f"{names.get('numerator', 'ours')}_{unit}": statistics.median(numerators) * scale,
        f"{names.get('denominator', 'theirs')}_{unit}": statistics.median(denominators) * scale,
    }
    return spread(ratios, details)


def spread(values: list[float], details: dict[str, float] | None = None) -> Figure:
    """The median and the quartiles of some values."""
    if len(values) == 1:
        low = high = values[0]
    else:
        low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return Figure(value=statistics.median(values), low=low, high=high, details=details or {})


def _pieces(run: Run, seconds: float) -> int:
    """How many pieces of work take about so long; `run` is warm afterwards."""
    run(1)
    count = 1
    while (took := _time(run, count) * count) < seconds and count < 1 << 20:
        count = max(count + 1, min(count * 4, round(count * seconds / max(took, 1e-9))))
    return count


def _time(run: Run, count: int, lead: int = 0) -> float:
    gc.collect()
    gc.disable()
    if lead:
        run(lead)
    started = time.perf_counter()
    run(count)
    took = time.perf_counter() - started
    gc.enable()
    return took / count
