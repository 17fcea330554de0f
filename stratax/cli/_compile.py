"""`stratax compile`: a program, compiled for TPUs that aren't there (cli layer)."""

import contextlib
import functools
import json
import pathlib
import runpy
import signal
import sys
import time
import traceback
import types
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import click

from stratax.base.shown import shown
from stratax.cli import holdings
from stratax.cli._interrupts import end_at_once
from stratax.cli._memory import end_with
from stratax.cli._options import apply_simulation, simulate_option
from stratax.cli.plots import check_plot, write_plot
from stratax.errors import BadArgumentError, NoTPUError, SimulationError

if TYPE_CHECKING:
    from stratax.cluster import SimulatedDevices
    from stratax.command.rehearsal import Catcher, ProgramReport, Topology

# More are slow to simulate; a step is traced anew for the others.
_MOST_SIMULATED = 16
_DEFAULT_SIMULATED = 8
_TOO_LARGE = (
    "The program uses up this machine's memory, so it was ended. Give its variables no values (stratax compile "
    "--abstract), or have fewer cores a copy of them, --simulate tpu:2: what they run is traced anew for each slice."
)
# The exit code after Ctrl-C.
INTERRUPTED = 130

abstract_option = click.option(
    "--abstract",
    is_flag=True,
    help="Large variables get no values: for models that this machine's memory can't hold. The first program that "
    "takes them is compiled, and ends the program.",
)


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option(
    "--topology",
    "names",
    multiple=True,
    metavar="NAME",
    default=("v5e:2x4",),
    show_default=True,
    help="A slice: v5e:4x4, or as the cloud names it, v5e-16, v3-8; may be given again.",
)
@click.option(
    "--for",
    "wanted",
    metavar="NAMES",
    help="Ends the program when these have been seen: fit, train, evaluate, predict (of Keras or of Estimators) or "
    "names of compiled functions, with commas.  [default: all that it runs]",
)
@click.option(
    "--steps",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    help="After so many dispatches a call of fit or train is cut short, and a loop of the program's own ends it.",
)
@click.option(
    "--seconds",
    type=click.FloatRange(min=0, min_open=True),
    default=300.0,
    show_default=True,
    help="After so long the program is ended.",
)
@click.option(
    "--examples",
    type=click.IntRange(min=1),
    metavar="N",
    help="How many examples the whole job trains on, all epochs together: its hours are estimated.",
)
@abstract_option
@simulate_option
@click.option(
    "--plot",
    type=click.Path(dir_okay=False, writable=True, path_type=pathlib.Path),
    metavar="FILE.svg",
    help="Where to write a picture of which device holds what.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
@click.argument("program", nargs=-1, required=True, type=click.UNPROCESSED, metavar="PROGRAM [ARGUMENTS]...")
def compile(
    names: tuple[str, ...],
    wanted: str | None,
    steps: int,
    seconds: float,
    examples: int | None,
    abstract: bool,
    simulate: "SimulatedDevices | None",
    plot: pathlib.Path | None,
    as_json: bool,
    program: tuple[str, ...],
) -> int:
    """Compile a program for TPUs that aren't there, and say what it would take.

    PROGRAM runs on simulated devices until it has run all it has, or is cut short. Each compiled program that it
    dispatches is then compiled for each topology, with as large a batch for each device as in the run: whether it
    compiles and fits, memory by what it is for, operations, collectives with their bytes, and how long a step takes at
    least, with what holds it up. What the program prints goes to standard error.

    Needs `pip install 'stratax-train[tpu-compile]'`. The exit code is 0 if all of it compiles and fits, else 1; 2 for a
    wrong call; 130 after Ctrl-C, which ends the program, or, if that has ended, the compilations.
    """
    from stratax.command.rehearsal import (
        Catcher,
        as_table,
        check_installed,
        compile_for,
        parse_topology,
    )

    topologies = [parse_topology(name) for name in dict.fromkeys(names)]
    check_plot(plot)
    check_installed()
    path = pathlib.Path(program[0])
    apply_simulation(simulate or simulation_for(topologies))
    catcher = Catcher([name.strip() for name in wanted.split(",")] if wanted else [], steps)
    ended = run_to_catch(path, program, catcher, seconds, abstract=abstract)
    reports: list[ProgramReport] = []

    def conclude() -> int:
        if not catcher.caught:
            # Why it dispatched nothing is known where the program failed.
            if not ended.problems:
                ended.problems.append(_nothing_caught(catcher))
        elif catcher.missing:
            ended.problems.append(_missing(catcher))
        fits = bool(reports) and all(report.fits for report in reports) and not ended.problems
        if as_json:
            found = [report.as_dict() for report in reports]
            click.echo(json.dumps({"fits": fits, "programs": found, "problems": ended.problems}, indent=2))
        if plot is not None and reports:
            write_plot(plot, holdings.as_svg(reports), ended.problems)
        for problem in ended.problems:
            click.echo(f"Error: {problem}", err=True)
        if ended.interrupted:
            return INTERRUPTED
        return 0 if fits else 1

    def show(report: "ProgramReport") -> None:
        if not as_json:
            click.echo(as_table([report], examples or 0))

    calls = [
        functools.partial(compile_for, made, topology) for made in catcher.caught for topology in topologies
    ]
    compile_each(calls, ended, reports, show, conclude)
    return conclude()


class End:
    """How the user's program has ended.

    Attributes:
        problems: What went wrong, for people.
        interrupted: Whether it was by Ctrl-C.
    """

    def __init__(self) -> None:
        self.problems: list[str] = []
        self.interrupted = False


def simulation_for(topologies: "list[Topology]") -> "SimulatedDevices | None":
    """Return what to simulate where the user does not say: nothing else if something is simulated already."""
    from stratax.cluster import SimulatedDevices, is_simulated

    if is_simulated():
        return None
    count = topologies[0].num_devices
    return SimulatedDevices(kind="TPU", count=count if 1 < count <= _MOST_SIMULATED else _DEFAULT_SIMULATED)


def run_to_catch(
    path: pathlib.Path,
    program: tuple[str, ...],
    catcher: "Catcher",
    seconds: float,
    *,
    abstract: bool = False,
) -> End:
    """Run the user's program as `stratax run` does, in this process, until it has ended or been ended.

    Args:
        path: Its file.
        program: The file's name and the program's arguments.
        catcher: Catches what it dispatches.
        seconds: After how long it is ended.
        abstract: Whether its variables have no values.
    """
    from stratax.command.rehearsal import Enough, abstract_variables
    from stratax.tf import install_as_tensorflow

    if not path.is_file():
        raise BadArgumentError(
            f"There is no program to compile. Expected: a Python file. Received: PROGRAM={shown(str(path))}."
        )
    end = End()
    install_as_tensorflow()
    started = time.monotonic()
    values = abstract_variables() if abstract else contextlib.nullcontext()
    with (
        end_with(_TOO_LARGE),
        catcher.catching(),
        _as_main(path, program),
        _end_after(seconds, Enough),
        values,
    ):
        try:
            runpy.run_path(str(path), run_name="__main__")
        except Enough:
            if time.monotonic() - started >= seconds:
                click.echo(
                    f"The program was ended after {seconds:g} s (--seconds); what it dispatched is compiled.",
                    err=True,
                )
        except SystemExit as error:
            if error.code not in (None, 0):
                end.problems.append(f"The program ended with exit code {shown(error.code)}.")
        except KeyboardInterrupt:
            end.interrupted = True
            click.echo("Interrupted: the program was ended; what it dispatched is compiled.", err=True)
        except Exception as error:
            traceback.print_exception(type(error), error, _from_program(error.__traceback__, path))
            end.problems.append(_tell_remedy(error))
    return end


def _from_program(frames: types.TracebackType | None, path: pathlib.Path) -> types.TracebackType | None:
    """Return a traceback without what runs the program; all of it where the program has no line in it."""
    own = frames
    while own is not None and own.tb_frame.f_code.co_filename != str(path):
        own = own.tb_next
    return own or frames


def _tell_remedy(error: Exception) -> str:
    """Return what to do about an error of the user's program."""
    text = f"The program failed: {type(error).__name__}: {shown(str(error))}."
    if isinstance(error, NoTPUError | SimulationError) or "backend" in str(error).lower():
        return (
            f"{text} It may need a real device: under this command devices are simulated TPU cores. Find them by "
            "`TPUClusterResolver()` or `list_logical_devices('TPU')`, and leave the choice of JAX' platform out."
        )
    return text


def _missing(catcher: "Catcher") -> str:
    """Return what --for names and was not run, and what was."""
    ran = ", ".join(shown(name) for name in sorted(catcher.num_dispatches))
    return (
        f"The program did not run what --for names: {', '.join(catcher.missing)}. Expected: fit, train, evaluate, "
        f"predict or the name of a compiled function that it runs. It ran: {ran}."
    )


def _nothing_caught(catcher: "Catcher") -> str:
    if catcher.num_dispatches:
        return _missing(catcher)
    return (
        "The program dispatched nothing to compile: it runs no strategy, or ends before its first step. Expected: a "
        "model that is compiled in `with strategy.scope():`, `strategy.run`, or a compiled function "
        "(`stratax.function`, `tf.function`). If it comes too late, raise --seconds or give it less data."
    )


@contextlib.contextmanager
def _as_main(path: pathlib.Path, program: tuple[str, ...]) -> Iterator[None]:
    """Have a program find what it would as `python PROGRAM ARGUMENTS`, and print to standard error."""
    arguments, paths = sys.argv, list(sys.path)
    sys.argv, sys.path[0] = list(program), str(path.resolve().parent)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        sys.argv, sys.path[:] = arguments, paths


@contextlib.contextmanager
def _end_after(seconds: float, enough: type[BaseException]) -> Iterator[None]:
    def end(number: int, frame: types.FrameType | None) -> None:
        raise enough

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def compile_each(
    calls: "Sequence[Callable[[], ProgramReport]]",
    ended: End,
    reports: "list[ProgramReport]",
    show: "Callable[[ProgramReport], None]",
    conclude: Callable[[], object],
) -> None:
    """Make compilations one after another; what Ctrl-C leaves undone is told.

    Args:
        calls: The compilations.
        ended: Is told of Ctrl-C.
        reports: Takes what they give.
        show: Called with each report as soon as it is there.
        conclude: Says at the end of the process what was compiled, where a compilation does not end at Ctrl-C.
    """

    def interrupt() -> None:
        ended.interrupted = True
        left = len(calls) - len(reports)
        ended.problems.append(f"Interrupted: {left} of {len(calls)} compilations were not done.")

    def end() -> None:
        interrupt()
        conclude()

    try:
        with end_at_once(end, INTERRUPTED):
            for call in calls:
                reports.append(call())
                show(reports[-1])
    except KeyboardInterrupt:
        interrupt()
