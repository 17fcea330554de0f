"""How a program scales, drawn: as text for a terminal, and as SVG (cli layer)."""

import dataclasses
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

if TYPE_CHECKING:
    from stratax.command.rehearsal import Curve, Point

_WIDTH = 48
# As in the pictures of the documentation.
_COLORS = ("#2f6eb5", "#c77d11", "#2d8a4e", "#a23b72", "#44546a", "#7a5cc2")
_LEFT, _TOP, _PANEL_WIDTH, _PANEL_HEIGHT, _GAP = 62, 44, 300, 230, 78
_LINE_HEIGHT = 20


def title_of(curve: "Curve") -> str:
    """Return what a curve is of: its generation, and how its batches are chosen."""
    return (
        f"{curve.generation}, {f'batch {curve.batch}' if curve.batch else 'as large a batch on each device'}"
    )


def as_text(curve: "Curve") -> str:
    """Draw examples per second as bars, and behind each what is missing to the slice's best, chip for chip.

    Args:
        curve: The curve.

    Returns:
        Lines; empty if the program fits fewer than two of the slices.
    """
    from stratax.command.rehearsal import short

    fitting = _fitting(curve)
    if len(fitting) < 2:
        return ""
    linear = {id(point): _speed(point) / point.efficiency for point in fitting}
    most = max(linear.values())
    lines = [f"{title_of(curve)}: examples/s (#), and what is missing to as many from each chip (.)"]
    for point in fitting:
        has = max(1, round(_speed(point) / most * _WIDTH))
        lacks = max(0, round(linear[id(point)] / most * _WIDTH) - has)
        bar = "#" * has + "." * lacks
        lines.append(f"  {point.report.topology.name:<12} {bar:<{_WIDTH}} {short(_speed(point)).strip()}/s")
    return "\n".join(lines)


def as_svg(curves: "Sequence[Curve]", name: str) -> str:
    """Draw examples per second, and efficiency, over the number of chips.

    Args:
        curves: The curves; points that don't fit are left out.
        name: The program's name, for the title.

    Returns:
        A file's text.
    """
    shown = [curve for curve in curves if _fitting(curve)]
    points = [point for curve in shown for point in _fitting(curve)]
    height = _TOP + _PANEL_HEIGHT + 56 + _LINE_HEIGHT * (len(curves) + 2)
    width = _LEFT + 2 * _PANEL_WIDTH + _GAP + 24
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        'font-family="system-ui, sans-serif" font-size="13" role="img" '
        f'aria-label="{escape(name, {chr(34): "&quot;"})} on TPU slices: examples per second, and efficiency">',
        "<style>text { fill: #1b2430 } .note { fill: #44546a; font-size: 12px } "
        ".axis { stroke: #44546a; fill: none } .grid { stroke: #d8dee6 }</style>",
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
    ]
    if points:
        chips = _axis([point.report.topology.num_chips for point in points], _LEFT, _LEFT + _PANEL_WIDTH, 2)
        speeds = _axis(
            [_speed(point) / point.efficiency for point in points] + [_speed(point) for point in points],
            _TOP + _PANEL_HEIGHT,
            _TOP,
            10,
        )
        parts += _speeds(shown, chips, speeds, name)
        by = _PANEL_WIDTH + _GAP
        parts += _efficiencies(shown, dataclasses.replace(chips, start=chips.start + by, end=chips.end + by))
    parts += _legend(curves, _TOP + _PANEL_HEIGHT + 62)
    return "\n".join([*parts, "</svg>", ""])


@dataclasses.dataclass(frozen=True, slots=True)
class _Axis:
    """A logarithmic axis.

    Attributes:
        ticks: The powers of the base that are marked.
        start: Where it begins, in pixels.
        end: Where it ends.
        base: The base.
    """

    ticks: range
    start: float
    end: float
    base: int

    def __call__(self, value: float) -> float:
        share = (math.log(value, self.base) - self.ticks[0]) / (self.ticks[-1] - self.ticks[0])
        return self.start + share * (self.end - self.start)


def _axis(values: Sequence[float], start: float, end: float, base: int) -> _Axis:
    # What rounding makes of a power is that power.
    low = math.floor(math.log(min(values), base) + 1e-9)
    high = math.ceil(math.log(max(values), base) - 1e-9)
    return _Axis(range(low, max(high, low + 1) + 1), start, end, base)


def _speeds(curves: "Sequence[Curve]", chips: _Axis, speeds: _Axis, name: str) -> list[str]:
    from stratax.command.rehearsal import short

    parts = _frame(chips, f"{name}: examples per second")
    for power in speeds.ticks:
        y = speeds(10**power)
        parts.append(f'<path class="grid" d="M{chips.start},{y:.1f} H{chips.end}"/>')
        label = short(10**power).strip()
        parts.append(
            f'<text class="note" x="{chips.start - 6}" y="{y + 4:.1f}" text-anchor="end">{label}</text>'
        )
    for color, curve in zip(_colors(len(curves)), curves, strict=True):
        fitting = _fitting(curve)
        linear = [(chips(_chips(point)), speeds(_speed(point) / point.efficiency)) for point in fitting]
        parts.append(_line(linear, color, dashed=True))
        parts += _draw_curve(
            [(chips(_chips(point)), speeds(_speed(point))) for point in fitting], fitting, color
        )
    return parts


def _efficiencies(curves: "Sequence[Curve]", chips: _Axis) -> list[str]:
    most = max(1.0, *(point.efficiency for curve in curves for point in _fitting(curve)))

    def y_of(share: float) -> float:
        return _TOP + _PANEL_HEIGHT * (1 - share / most)

    parts = _frame(chips, "Efficiency: examples per second and chip")
    for percent in range(0, 101, 25):
        y = y_of(percent / 100)
        parts.append(f'<path class="grid" d="M{chips.start},{y:.1f} H{chips.end}"/>')
        parts.append(
            f'<text class="note" x="{chips.start - 6}" y="{y + 4:.1f}" text-anchor="end">{percent}%</text>'
        )
    for color, curve in zip(_colors(len(curves)), curves, strict=True):
        fitting = _fitting(curve)
        parts += _draw_curve(
            [(chips(_chips(point)), y_of(point.efficiency)) for point in fitting], fitting, color
        )
    return parts


def _frame(chips: _Axis, title: str) -> list[str]:
    bottom = _TOP + _PANEL_HEIGHT
    parts = [
        f'<text x="{chips.start}" y="{_TOP - 16}">{escape(title)}</text>',
        f'<path class="axis" d="M{chips.start},{_TOP} V{bottom} H{chips.end}"/>',
        f'<text class="note" x="{(chips.start + chips.end) / 2}" y="{bottom + 36}" text-anchor="middle">chips</text>',
    ]
    for power in chips.ticks:
        x = chips(2**power)
        parts.append(f'<path class="axis" d="M{x:.1f},{bottom} v4"/>')
        parts.append(
            f'<text class="note" x="{x:.1f}" y="{bottom + 18}" text-anchor="middle">{2**power}</text>'
        )
    return parts


def _draw_curve(places: list[tuple[float, float]], points: "Sequence[Point]", color: str) -> list[str]:
    return [_line(places, color)] + [
        _marker(x, y, point.report.estimate.bound if point.report.estimate else "", color)
        for (x, y), point in zip(places, points, strict=True)
    ]


def _line(places: list[tuple[float, float]], color: str, *, dashed: bool = False) -> str:
    path = " L".join(f"{x:.1f},{y:.1f}" for x, y in places)
    style = ' stroke-dasharray="2 4"' if dashed else ' stroke-width="1.5"'
    return f'<path d="M{path}" fill="none" stroke="{color}"{style}/>'


def _marker(x: float, y: float, bound: str, color: str) -> str:
    """Return a mark that tells what holds a step up."""
    match bound:
        case "links":
            return f'<path d="M{x:.1f},{y - 6:.1f} l6,10 h-12 z" fill="{color}"/>'
        case "latency" | "dispatch":
            return f'<path d="M{x:.1f},{y - 6:.1f} l6,6 -6,6 -6,-6 z" fill="none" stroke="{color}" stroke-width="1.5"/>'
        case "memory":
            return f'<rect x="{x - 4:.1f}" y="{y - 4:.1f}" width="8" height="8" fill="{color}"/>'
        case _:
            return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5" fill="{color}"/>'


def _legend(curves: "Sequence[Curve]", top: float) -> list[str]:
    parts = []
    colors = iter(_colors(len(curves)))
    for index, curve in enumerate(curves):
        y = top + _LINE_HEIGHT * index
        fits = _fitting(curve)
        left_out = [point.report.topology.name for point in curve.points if point not in fits]
        note = f"; does not fit {', '.join(left_out)}" if left_out else ""
        if fits:
            parts.append(_line([(_LEFT, y - 4), (_LEFT + 24, y - 4)], next(colors)))
        parts.append(f'<text x="{_LEFT + 32}" y="{y}">{escape(title_of(curve) + note)}</text>')
    y = top + _LINE_HEIGHT * len(curves)
    x = _LEFT + 4
    for bound in ("compute", "memory", "links", "latency"):
        parts.append(_marker(x, y - 4, bound, "#44546a"))
        parts.append(f'<text class="note" x="{x + 12}" y="{y}">bound by {bound}</text>')
        x += 130
    x, y = _LEFT + 4, y + _LINE_HEIGHT
    parts.append(_line([(x, y - 4), (x + 24, y - 4)], "#44546a", dashed=True))
    parts.append(f'<text class="note" x="{x + 32}" y="{y}">as many from each chip as where it is most</text>')
    return parts


def _colors(count: int) -> list[str]:
    return [_COLORS[index % len(_COLORS)] for index in range(count)]


def _fitting(curve: "Curve") -> "list[Point]":
    return [point for point in curve.points if point.report.fits and _speed(point)]


def _speed(point: "Point") -> float:
    return point.report.examples_per_second


def _chips(point: "Point") -> int:
    return point.report.topology.num_chips
