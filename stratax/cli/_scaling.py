"""`stratax plan`: one program on slices of several sizes, before any of them is rented (cli layer)."""

import json
import pathlib
from typing import TYPE_CHECKING, Any

import click

from stratax._shown import shown
from stratax.cli._compile import NAMES, run_to_catch, simulation_for
from stratax.cli._options import apply_simulation, simulate_option
from stratax.errors import BadArgumentError

if TYPE_CHECKING:
    from stratax.cluster import SimulatedDevices
    from stratax.core.compiling import Made
    from stratax.rehearsal import Catcher, Point

_DEFAULT = ("v5e:2x4", "v5e:4x4", "v5e:8x8", "v5e:16x16")
_ROW = "{:<12} {:>8} {:>10} {:>10} {:>8} {:>12} {:>10} {:>9} {:>9}"


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option(
    "--topology",
    "names",
    multiple=True,
    metavar="NAME",
    default=_DEFAULT,
    show_default=True,
    help="A slice to compare: v5e:4x4, or as the cloud names it, v5e-16; may be given again.",
)
@click.option(
    "--for",
    "wanted",
    metavar="NAME",
    default="fit",
    show_default=True,
    help="What to plan for: fit, evaluate, predict or the name of a compiled function.",
)
@click.option(
    "--price",
    "prices",
    multiple=True,
    metavar="GENERATION=PRICE",
    help="What a chip costs in an hour: v5e=1.20; may be given again.",
)
@click.option(
    "--examples", type=click.IntRange(min=1), metavar="N", help="How many examples the job trains on."
)
@click.option(
    "--seconds",
    type=click.FloatRange(min=0, min_open=True),
    default=300.0,
    show_default=True,
    help="After so long the program is ended.",
)
@simulate_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
@click.argument("program", nargs=-1, required=True, type=click.UNPROCESSED, metavar="PROGRAM [ARGUMENTS]...")
def plan(
    names: tuple[str, ...],
    wanted: str,
    prices: tuple[str, ...],
    examples: int | None,
    seconds: float,
    simulate: "SimulatedDevices | None",
    as_json: bool,
    program: tuple[str, ...],
) -> int:
    """Compare a program on several TPU slices: speed, efficiency, and where communication takes over.

    PROGRAM runs on simulated devices until it dispatches what is wanted, which is then compiled for each slice, with as
    large a batch on each device as in the run. Of each slice the step is estimated at the maker's peaks, as
    `stratax compile` does; a real one is slower. Prices are yours: of those slices that have one, it is told where an
    example costs least.

    Needs `pip install 'stratax[tpu-compile]'`. The exit code is 0 if the program fits at least one slice, else 1; 2 for
    a wrong call.
    """
    from stratax.rehearsal import Catcher, cheapest, check_installed, compile_for, parse_topology
    from stratax.rehearsal import plan as compare

    topologies = [parse_topology(name) for name in dict.fromkeys(names)]
    costs = dict(_price(text) for text in prices)
    check_installed()
    apply_simulation(simulate or simulation_for(topologies))
    catcher = Catcher([NAMES.get(wanted, wanted)])
    ended = run_to_catch(pathlib.Path(program[0]), program, catcher, seconds)
    made = _first(catcher, wanted, ended.problems)
    if made is None:
        for problem in ended.problems:
            click.echo(f"Error: {problem}", err=True)
        return 1
    points = compare([compile_for(made, topology) for topology in topologies], costs)
    best = cheapest(points)
    if as_json:
        found: dict[str, Any] = {"points": [_as_dict(point, examples) for point in points]}
        found["cheapest"] = best and best.report.topology.name
        click.echo(json.dumps(found, indent=2))
    else:
        click.echo(_table(points, best, examples))
    return 0 if any(point.report.fits for point in points) else 1


def _price(text: str) -> tuple[str, float]:
    from stratax.rehearsal import known_topologies

    name, _, price = text.partition("=")
    generations = dict.fromkeys(topology.generation.name for topology in known_topologies())
    try:
        value = float(price)
    except ValueError:
        value = -1.0
    if name not in generations or not value > 0:
        raise BadArgumentError(
            f"A price is that of a chip in an hour. Expected: GENERATION=PRICE, with one of {', '.join(generations)}, "
            f"such as v5e=1.20. Received: --price {shown(text)}."
        )
    return name, value


def _first(catcher: "Catcher", wanted: str, problems: list[str]) -> "Made | None":
    if catcher.caught:
        return catcher.caught[0]
    ran = ", ".join(sorted(catcher.num_dispatches)) or "nothing that is compiled"
    problems.append(
        f"The program did not run what the plan is for. Expected: {wanted} (--for). It ran: {ran}."
    )
    return None


def _table(points: "list[Point]", best: "Point | None", examples: int | None) -> str:
    titles = ("slice", "devices", "batch", "step", "bound", "examples/s", "efficiency", "per hour", "job")
    lines = [_ROW.format(*titles)]
    lines += [_line(point, examples) for point in points]
    bound = next((p for p in points if p.report.estimate and p.report.estimate.bound == "links"), None)
    if bound is not None:
        lines.append(f"Communication takes over at {bound.report.topology.name}.")
    if best is not None:
        lines.append(f"An example costs least on {best.report.topology.name}.")
    return "\n".join(line.rstrip() for line in lines)


def _line(point: "Point", examples: int | None) -> str:
    report = point.report
    name, count = report.topology.name, report.topology.num_devices
    if not report.fits or report.estimate is None:
        why = "does not compile" if report.failure and report.failure.kind != "memory" else "does not fit"
        return f"{name:<12} {count:>8} {why}"
    cost = point.cost(examples) if examples else None
    return _ROW.format(
        name,
        count,
        report.examples,
        f"{report.estimate.seconds * 1e3:.3g} ms",
        report.estimate.bound,
        f"{report.examples_per_second:.3g}",
        f"{point.efficiency:.0%}",
        "" if point.price is None else f"{point.price:.2f}",
        "" if cost is None else f"{cost:.2f}",
    )


def _as_dict(point: "Point", examples: int | None) -> dict[str, Any]:
    found = {"efficiency": point.efficiency, "price_per_hour": point.price}
    if examples:
        found |= {"hours": point.hours(examples), "cost": point.cost(examples)}
    return point.report.as_dict() | found
