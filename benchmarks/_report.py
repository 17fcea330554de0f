"""Results as a table in the terminal and as Markdown: `python -m benchmarks.render RESULTS.json ...`."""

from collections.abc import Sequence
from typing import Any

from rich.table import Table

Result = dict[str, Any]
"""A case's name, what it compares, devices, target, unit, and either its figure or the error that it ended with."""


def table(results: Sequence[Result]) -> Table:
    """The results for the terminal."""
    made = Table(title="Stratax, measured", title_justify="left")
    for heading, justify in (
        ("case", "left"),
        ("what", "left"),
        ("devices", "right"),
        ("median", "right"),
        ("quartiles", "right"),
        ("target", "right"),
        ("", "left"),
        ("made of", "left"),
    ):
        made.add_column(heading, justify=justify, overflow="fold")
    for result in results:
        style = "red" if verdict(result) in ("missed", "failed") else ""
        made.add_row(*_cells(result), style=style)
    return made


def verdict(result: Result) -> str:
    """`met`, `missed`, `failed`, `not installed` (what it compares with), or empty where there is no target."""
    if result.get("error"):
        return "not installed" if "not installed: " in result["error"].splitlines()[-1] else "failed"
    return "" if result["met"] is None else "met" if result["met"] else "missed"


def markdown(results: Sequence[Result], host: dict[str, Any]) -> str:
    """The results and the machine as Markdown."""
    versions = ", ".join(f"{package} {version}" for package, version in host["versions"].items())
    where = f"{host['processor']}, {host['cores']} cores, {host['memory_gib']} GiB of memory"
    devices = (
        f"devices simulated on the processor ({host['kind']})"
        if host["platform"] == "cpu"
        else f"{host['count']} x {host['kind']}"
    )
    lines = [
        f"{where}; {devices}; {versions}. Load of the machine before: {host['load_before']}.",
        "",
        "| case | what | devices | median | quartiles | target | | made of |",
        "| --- | --- | ---: | ---: | ---: | ---: | --- | --- |",
        *("| " + " | ".join(_cells(result)) + " |" for result in results),
    ]
    return "\n".join(lines) + "\n"


def _cells(result: Result) -> list[str]:
    head = [result["name"], result["what"], str(result["devices"])]
    target = result["target"] or "reported"
    if result.get("error"):
        return [*head, "", "", target, verdict(result), result["error"].splitlines()[-1]]
    figure, unit = result["figure"], result["unit"] and f" {result['unit']}"
    quartiles = f"{figure['low']:.3f} to {figure['high']:.3f}"
    made_of = ", ".join(_detail(name, value) for name, value in figure["details"].items())
    return [*head, f"{figure['value']:.3f}{unit}", quartiles, target, verdict(result), made_of]


def _detail(name: str, value: float) -> str:
    words, _, unit = name.rpartition("_")
    return f"{words.replace('_', ' ')} {value:.4g} {unit}"
