"""Which device holds what of a program's variables, drawn as SVG (cli layer)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

if TYPE_CHECKING:
    from stratax.command.rehearsal import HeldVariable, Memory, ProgramReport

_LEFT, _WIDTH, _LINE, _CELL, _BAR = 24, 860, 22, 16, 256
# More groups, parts and variables than these are left out.
_MOST_GROUPS, _MOST_PARTS, _MOST_VARIABLES = 4, 32, 16
_WHOLE = "#b9c2cd"
_USES = {
    "weights": "#2f6eb5",
    "slots": "#c77d11",
    "batch": "#2d8a4e",
    "temporaries": "#a23b72",
    "other": "#44546a",
}


def as_svg(reports: "Sequence[ProgramReport]") -> str:
    """Draw, of each program on each slice: its devices, the largest variables as they are cut, and a device's memory.

    Args:
        reports: The reports; what does not compile is left out.

    Returns:
        A file's text.
    """
    parts: list[str] = []
    top = 2 * _LINE
    for report in reports:
        if report.memory is not None:
            drawn, top = _draw_report(report, report.memory, top)
            parts += drawn
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {top}" '
            'font-family="system-ui, sans-serif" font-size="13" role="img" aria-label="Which device holds what">',
            "<style>text { fill: #1b2430 } .note { fill: #44546a; font-size: 12px } rect { stroke: #ffffff }</style>",
            f'<rect width="{_WIDTH}" height="{top}" fill="#ffffff"/>',
            *parts,
            "</svg>",
            "",
        ]
    )


def _draw_report(report: "ProgramReport", memory: "Memory", top: int) -> tuple[list[str], int]:
    """Return what is drawn of a report below a line, and the line below that."""
    from stratax.command.rehearsal import in_bytes

    sizes = dict(report.mesh)
    parts = [_text(_LEFT, top, f"{report.name} on {report.topology.name}: {_describe_mesh(sizes)}")]
    top += _LINE
    groups, held, neighbours = (sizes.get(axis, 1) for axis in ("replica", "shard", "model"))
    # Neighbours of one replica, as many as there is room for.
    beside = min(neighbours, max(1, _MOST_PARTS // held))
    for _ in range(min(groups, _MOST_GROUPS)):
        for part in range(min(held, _MOST_PARTS)):
            for neighbour in range(beside):
                x = _LEFT + (part * beside + neighbour) * _CELL
                parts.append(_rect(x, top, _CELL, _color(part, held, neighbour, neighbours)))
        top += _CELL
    if min(groups, _MOST_GROUPS) * min(held, _MOST_PARTS) * beside < groups * held * neighbours:
        parts.append(_text(_LEFT, top + 14, f"... {groups * held * neighbours} devices", "note"))
        top += _LINE
    top += _LINE
    largest = sorted(report.held, key=lambda each: -each.bytes_in_all)
    for variable in largest[:_MOST_VARIABLES]:
        parts += _draw_variable(variable, sizes, top)
        top += _LINE
    rest = largest[_MOST_VARIABLES:]
    if rest:
        size = in_bytes(sum(each.bytes for each in rest))
        parts.append(_text(_LEFT + _BAR + 12, top + 12, f"{len(rest)} smaller ones: {size} on each", "note"))
        top += _LINE
    drawn, top = _draw_memory(report, memory, top + 8)
    return parts + drawn, top + 2 * _LINE


def _draw_variable(variable: "HeldVariable", sizes: dict[str, int], top: int) -> list[str]:
    """Draw a variable as a bar with a piece for each part of it, in the colors of the devices that have it."""
    from stratax.command.rehearsal import in_bytes

    held = sizes["shard"] if "shard" in variable.axes else 1
    neighbours = sizes["model"] if "model" in variable.axes else 1
    count = held * neighbours
    drawn = min(count, 2 * _MOST_PARTS)
    parts = [
        _rect(
            _LEFT + index * _BAR / drawn,
            top,
            _BAR / drawn,
            _WHOLE if count == 1 else _color(index // neighbours, held, index % neighbours, neighbours),
        )
        for index in range(drawn)
    ]
    shape = " x ".join(
        str(size) if axis is None else f"{size} by {axis}"
        for size, axis in zip(variable.shape, variable.axes, strict=True)
    )
    how = "a copy on each device" if count == 1 else f"{count} parts"
    size = in_bytes(variable.bytes)
    return [
        *parts,
        _text(_LEFT + _BAR + 12, top + 12, f"{variable.path}  ({shape}): {how}, {size} on each", "note"),
    ]


def _draw_memory(report: "ProgramReport", memory: "Memory", top: int) -> tuple[list[str], int]:
    """Draw a device's memory as a bar, and what it is for."""
    from stratax.command.rehearsal import in_bytes

    available = report.topology.memory_per_device
    uses = {name: getattr(memory, name) for name in _USES if name != "other"}
    uses["other"] = memory.total - sum(uses.values())
    width = _WIDTH - 2 * _LEFT
    scale = width / max(available, memory.total)
    parts = [_text(_LEFT, top + 12, f"A device: {in_bytes(memory.total)} of {in_bytes(available)}")]
    top += _LINE
    parts.append(f'<rect x="{_LEFT}" y="{top}" width="{width}" height="{_CELL}" fill="#eef1f5"/>')
    x = float(_LEFT)
    for index, (name, size) in enumerate(uses.items()):
        parts.append(_rect(x, top, size * scale, _USES[name]))
        x += size * scale
        key = _LEFT + index * 160
        parts.append(_rect(key, top + 26, 10, _USES[name], 10))
        parts.append(_text(key + 16, top + 35, f"{name} {in_bytes(size)}", "note"))
    return parts, top + 40


def _describe_mesh(sizes: dict[str, int]) -> str:
    groups, held, neighbours = (sizes.get(axis, 1) for axis in ("replica", "shard", "model"))
    text = f"{groups} groups of {held}" if groups > 1 else f"{held} parts"
    if held == 1:
        text = f"{groups} devices with a copy of each variable" if groups > 1 else "one device"
    return text if neighbours == 1 else f"{text}, {neighbours} neighbours share a part of the batch"


def _color(part: int, held: int, neighbour: int, neighbours: int) -> str:
    """Return the color of a part: a hue for each part of a group, a lightness for each neighbour."""
    return f"hsl({210 + 360 * part // held} 55% {42 + 40 * neighbour // neighbours}%)"


def _rect(x: float, y: float, width: float, color: str, height: float = _CELL) -> str:
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height}" fill="{color}"/>'


def _text(x: float, y: float, text: str, kind: str = "") -> str:
    style = f' class="{kind}"' if kind else ""
    return f'<text x="{x}" y="{y}"{style}>{escape(text)}</text>'
