"""`stratax plan`: one program on slices of several sizes, before any of them is rented (cli layer)."""

import functools
import json
import pathlib
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import click

from stratax.base.shown import shown
from stratax.cli import _curves
from stratax.cli._compile import (
    INTERRUPTED,
    abstract_option,
    compile_each,
    run_to_catch,
    simulation_for,
)
from stratax.cli._options import apply_simulation, simulate_option
from stratax.cli.plots import check_plot, write_plot
from stratax.errors import BadArgumentError

if TYPE_CHECKING:
    from stratax.cluster import SimulatedDevices
    from stratax.command.rehearsal import Catcher, Curve, Point, ProgramReport, Proposal, Topology
    from stratax.core.regions import MadeProgram

_DEFAULT = ("v5e:2x4", "v5e:4x4", "v5e:8x8", "v5e:16x16")
_ROW = "{:<12} {:>8} {:>10} {:>10} {:>8} {:>12} {:>10} {:>9} {:>9}"
_MILLION = 1e6


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
    "--batch",
    "batches",
    type=click.IntRange(min=1),
    multiple=True,
    metavar="N",
    help="A global batch that is divided among all devices of each slice; may be given again.  [default: as large a "
    "batch on each device as in the run]",
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
@click.option(
    "--arrange",
    is_flag=True,
    help="For a ShardedStrategy: compile it with other `replicas` and, where rules divide by it, `model`, too, and "
    "propose the fastest that fits.",
)
@abstract_option
@simulate_option
@click.option(
    "--plot",
    type=click.Path(dir_okay=False, writable=True, path_type=pathlib.Path),
    metavar="FILE.svg",
    help="Where to write a picture of the curves.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
@click.argument("program", nargs=-1, required=True, type=click.UNPROCESSED, metavar="PROGRAM [ARGUMENTS]...")
def plan(
    names: tuple[str, ...],
    batches: tuple[int, ...],
    wanted: str,
    prices: tuple[str, ...],
    examples: int | None,
    seconds: float,
    arrange: bool,
    abstract: bool,
    simulate: "SimulatedDevices | None",
    plot: pathlib.Path | None,
    as_json: bool,
    program: tuple[str, ...],
) -> int:
    """Compare a program on several TPU slices: speed, efficiency, and where communication takes over.

    PROGRAM runs on simulated devices until it dispatches what is wanted, which is then compiled for each slice: with
    each --batch divided among the slice's devices, or without one, with as large a batch on each device as in the run.
    Of each slice the step is estimated at the maker's peaks, with the latencies of dispatches and collectives, as
    `stratax compile` does; a real one is slower. Prices
    are yours: of those slices that have one, it is told where an example costs least.

    Needs `pip install 'stratax-train[tpu-compile]'`. The exit code is 0 if the program fits at least one slice, else 1;
    2 for a wrong call; 130 after Ctrl-C, which ends the compilations and shows those that are done.
    """
    from stratax.command.rehearsal import (
        Catcher,
        cheapest,
        check_installed,
        parse_topology,
        propose,
    )
    from stratax.command.rehearsal import plan as compare

    topologies = [parse_topology(name) for name in dict.fromkeys(names)]
    costs = dict(_price(text) for text in prices)
    check_plot(plot)
    check_installed()
    apply_simulation(simulate or simulation_for(topologies))
    catcher = Catcher([wanted])
    path = pathlib.Path(program[0])
    ended = run_to_catch(path, program, catcher, seconds, abstract=abstract)
    made = _first(catcher, wanted, ended.problems)
    reports: list[ProgramReport] = []

    def conclude() -> int:
        proposals = propose(reports)
        curves = compare([each.best or each.reports[0] for each in proposals], costs)
        best = cheapest(curves)
        told = [_describe_proposal(each) for each in proposals if len(each.reports) > 1]
        if as_json:
            found = _as_dict(curves, best, examples, ended.problems)
            click.echo(json.dumps(found | {"tried": [each.as_dict() for each in reports]}, indent=2))
        elif curves:
            click.echo("\n".join([_table(curves, best, examples), *told]))
        if plot is not None and curves:
            write_plot(plot, _curves.as_svg(curves, path.name), ended.problems)
        for problem in ended.problems:
            click.echo(f"Error: {problem}", err=True)
        if ended.interrupted:
            return INTERRUPTED
        return 0 if any(report.fits for report in reports) and not ended.problems else 1

    calls = _compilations(made, topologies, dict.fromkeys(batches) or (0,), arrange=arrange) if made else []

    def show(report: "ProgramReport") -> None:
        click.echo(f"{len(reports)} of {len(calls)}: {_took(report)}", err=True)

    compile_each(calls, ended, reports, show, conclude)
    return conclude()


def _compilations(
    made: "MadeProgram", topologies: "Sequence[Topology]", batches: Iterable[int], *, arrange: bool
) -> "list[Callable[[], ProgramReport]]":
    """Return what compiles a program for each slice and batch, and for each arrangement that is worth it."""
    from stratax.command.rehearsal import compile_for, list_arrangements

    return [
        functools.partial(compile_for, made, topology, batch, arrangement)
        for batch in batches
        for topology in topologies
        for arrangement in (arrange and list_arrangements(made, topology, batch)) or (None,)
    ]


def _describe_proposal(proposal: "Proposal") -> str:
    """Return what a strategy is to be on a slice, what limits it there, and what else was tried."""
    first = proposal.reports[0]
    where = first.topology.name + (f", batch {first.batch}" if first.batch else "")
    others = "; ".join(
        f"{_arguments(each)} {_describe_result(each)}"
        for each in proposal.reports
        if each is not proposal.best
    )
    if proposal.best is None:
        return f"{where}: no arrangement fits. {others}."
    chosen = proposal.best
    return (
        f"{where}: ShardedStrategy({_arguments(chosen)}) is the fastest that fits, {_describe_result(chosen)}. "
        f"Others: {others}."
    )


def _arguments(report: "ProgramReport") -> str:
    return f"replicas={report.mesh.get('replica', 1)}, model={report.mesh.get('model', 1)}"


def _describe_result(report: "ProgramReport") -> str:
    from stratax.command.rehearsal import in_bytes, in_seconds

    if report.memory is None or report.estimate is None or not report.fits:
        needed = (
            report.memory.total if report.memory else report.failure.needed_bytes if report.failure else 0
        )
        available = in_bytes(report.topology.memory_per_device)
        return f"needs {in_bytes(needed)} of {available}" if needed else "does not compile"
    return (
        f"{in_seconds(report.estimate.seconds)} by {report.estimate.bound}, {in_bytes(report.memory.total)}"
    )


def _took(report: "ProgramReport") -> str:
    of = f", batch {report.batch}" if report.batch else ""
    return f"{report.topology.name}{of}, {report.compile_seconds:.1f} s"


def _price(text: str) -> tuple[str, float]:
    from stratax.command.rehearsal import known_topologies

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


def _first(catcher: "Catcher", wanted: str, problems: list[str]) -> "MadeProgram | None":
    if catcher.caught:
        return catcher.caught[0]
    ran = ", ".join(sorted(catcher.num_dispatches)) or "nothing that is compiled"
    problems.append(
        f"The program did not run what the plan is for. Expected: {wanted} (--for). It ran: {ran}."
    )
    return None


def _table(curves: "Sequence[Curve]", best: "Point | None", examples: int | None) -> str:
    job = "job" if examples else "million"
    titles = ("slice", "devices", "batch", "step", "bound", "examples/s", "efficiency", "per hour", job)
    lines = [_ROW.format(*titles)]
    lines += [_line(point, examples or _MILLION) for curve in curves for point in curve.points]
    for curve in curves:
        drawn = _curves.as_text(curve)
        lines += ["", drawn] if drawn else []
    lines += [
        "",
        *(_tell_turn(curve) for curve in curves if any(point.report.fits for point in curve.points)),
    ]
    if best is not None:
        price = best.cost(_MILLION)
        lines.append(
            f"An example costs least on {best.report.topology.name} with a batch of {best.report.examples}: "
            f"{price:.4g} a million."
        )
    remedies = dict.fromkeys(_describe_failure(point) for curve in curves for point in curve.points)
    lines += [text for text in remedies if text]
    return "\n".join(line.rstrip() for line in lines)


def _tell_turn(curve: "Curve") -> str:
    title = _curves.title_of(curve)
    if curve.too_short is not None and curve.smallest is not None:
        return (
            f"{title}: at {curve.too_short.report.topology.name} a step is shorter than its latencies: what the host "
            f"does for a dispatch, and what collectives take from chip to chip. Rent {_least(curve)}; more chips "
            "pay only with a larger batch or more steps in a dispatch (steps_per_execution)."
        )
    if curve.turn is None:
        return f"{title}: communication takes over on none of these slices."
    return f"{title}: communication takes over at {curve.turn.report.topology.name}."


def _least(curve: "Curve") -> str:
    """Return the largest slice that still has enough to do, or the smallest that the program fits."""
    busy = [
        point
        for point in curve.points
        if point.report.estimate is not None
        and point.report.fits
        and not point.report.estimate.is_shorter_than_latencies
    ]
    if busy:
        return f"{busy[-1].report.topology.name} at most"
    return "the smallest" if curve.smallest is None else curve.smallest.report.topology.name


def _describe_failure(point: "Point") -> str:
    failure = point.report.failure
    return f"{failure.message.splitlines()[0]} {failure.remedy}".strip() if failure else ""


def _line(point: "Point", examples: float) -> str:
    from stratax.command.rehearsal import in_seconds, short

    report = point.report
    name, count = report.topology.name, report.topology.num_devices
    if not report.fits or report.estimate is None:
        kind = report.failure.kind if report.failure else "memory"
        why = {"memory": "does not fit", "batch": "does not divide"}.get(kind, "does not compile")
        return f"{name:<12} {count:>8} {report.batch or '':>10} {why}"
    cost = point.cost(examples)
    return _ROW.format(
        name,
        count,
        report.examples,
        in_seconds(report.estimate.seconds),
        report.estimate.bound,
        short(report.examples_per_second),
        f"{point.efficiency:.0%}",
        "" if point.price is None else f"{point.price:.2f}",
        "" if cost is None else f"{cost:.2f}" if cost >= 1 else f"{cost:.3g}",
    )


def _as_dict(
    curves: "Sequence[Curve]", best: "Point | None", examples: int | None, problems: list[str]
) -> dict[str, Any]:
    return {
        "points": [_of_point(point, examples) for curve in curves for point in curve.points],
        "curves": [
            {
                "generation": curve.generation,
                "batch": curve.batch or None,
                "communication_takes_over": curve.turn and curve.turn.report.topology.name,
                "shorter_than_latencies": curve.too_short and curve.too_short.report.topology.name,
            }
            for curve in curves
        ],
        "cheapest": best
        and {
            "topology": best.report.topology.name,
            "batch": best.report.examples,
            "cost_of_a_million": best.cost(_MILLION),
        },
        "problems": problems,
    }


def _of_point(point: "Point", examples: int | None) -> dict[str, Any]:
    found = {"efficiency": point.efficiency, "price_per_hour": point.price}
    if examples:
        found |= {"hours": point.hours(examples), "cost": point.cost(examples)}
    return point.report.as_dict() | found
