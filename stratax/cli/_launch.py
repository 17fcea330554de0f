"""`stratax launch`: one program as the tasks of a cluster on this machine (cli layer)."""

import os
import pathlib
import signal
import sys
import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from stratax.errors import FileAccessError

if TYPE_CHECKING:
    from stratax.cluster.launching import Outcome

_COLORS = ("cyan", "green", "yellow", "magenta", "blue", "bright_cyan", "bright_green", "bright_yellow")


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option(
    "--workers", type=click.IntRange(min=0), metavar="N", default=1, show_default=True, help="Workers."
)
@click.option("--chief", is_flag=True, help="A chief besides the workers.")
@click.option("--evaluator", is_flag=True, help="An evaluator besides them.")
@click.option(
    "--ps",
    type=click.IntRange(min=0),
    metavar="N",
    default=0,
    show_default=True,
    help="Parameter servers; workers may then come and go.",
)
@click.option(
    "--devices-per-worker",
    type=click.IntRange(min=1),
    metavar="N",
    help="Simulates so many devices in each task.  [default: those that are there]",
)
@click.option(
    "--simulate",
    "kind",
    type=click.Choice(["cpu", "gpu", "tpu"]),
    default="cpu",
    show_default=True,
    help="As what --devices-per-worker simulates them.",
)
@click.option(
    "--restarts",
    type=click.IntRange(min=0),
    metavar="N",
    default=0,
    show_default=True,
    help="How often all tasks are started again after a failure that is worth it; an evaluator, and with --ps each "
    "worker, alone.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    metavar="S",
    help="Ends the run after S seconds.",
)
@click.option(
    "--grace",
    type=click.FloatRange(min=0),
    metavar="S",
    default=15.0,
    show_default=True,
    help="How long the others have to end by themselves when a task has failed.",
)
@click.option(
    "--log-dir",
    type=click.Path(file_okay=False, path_type=pathlib.Path),
    help="Where each task's output is written, too.",
)
@click.option("--as-tensorflow", is_flag=True, help="PROGRAM says `import tensorflow`, as for `stratax run`.")
@click.option("-m", "--module", is_flag=True, help="PROGRAM is a module, as for python -m.")
@click.argument("program")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def launch(
    workers: int,
    chief: bool,
    evaluator: bool,
    ps: int,
    devices_per_worker: int | None,
    kind: str,
    restarts: int,
    timeout: float | None,
    grace: float,
    log_dir: pathlib.Path | None,
    as_tensorflow: bool,
    module: bool,
    program: str,
    arguments: tuple[str, ...],
) -> int:
    """Start PROGRAM as several tasks on this machine, with TF_CONFIG set for each.

    What a task writes comes with its name before it. When one fails, all are ended, and the command's exit code is that
    of the first that failed. Ctrl-C goes to all tasks; the second one kills them.

    Options of the program come after it, as in: stratax launch --workers 2 train.py --epochs 3
    """
    from stratax.cluster.launching import LaunchPlan, LocalLauncher, command_of

    interpreter, *rest = command_of(program, arguments, is_module=module)
    plan = LaunchPlan(
        command=(interpreter, *(("-m", "stratax", "run") if as_tensorflow else ()), *rest),
        workers=workers,
        chief=chief,
        evaluator=evaluator,
        ps=ps,
        devices_per_worker=devices_per_worker,
        kind=kind,
        restarts=restarts,
        timeout=timeout,
        grace=grace,
        log_dir=log_dir,
    )
    screen = _Screen([f"{job} {index}" for job, index in plan.tasks()])
    try:
        outcome = LocalLauncher(plan, screen).run()
        _conclude(outcome, screen)
    except BrokenPipeError:
        # Nobody reads on, as behind `| head`: the end of every program there, told by its code only.
        for stream in (sys.stdout, sys.stderr):
            # Python flushes its streams at the end, and would fail again.
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        return 128 + signal.SIGPIPE
    return outcome.code


class _Screen:
    """Writes the tasks' lines, each whole and with its task's name."""

    def __init__(self, names: list[str]) -> None:
        width = max(len(name) for name in names)
        self._prefixes = {
            name: click.style(f"[{name}]".ljust(width + 2), fg=_COLORS[place % len(_COLORS)])
            for place, name in enumerate(names)
        }
        self._lock = threading.Lock()

    def show(self, name: str, line: str, *, is_error: bool) -> None:
        """Show a line that a task wrote."""
        self._write(f"{self._prefixes[name]} {line}", is_error)

    def tell(self, message: str, details: Iterable[str] = ()) -> None:
        """Show a message of the launcher's own, and what belongs to it."""
        title = click.style(f"stratax: {message}", bold=True)
        self._write("\n".join([title, *(f"  {line}" for line in details)]), True)

    def _write(self, text: str, is_error: bool) -> None:
        # A task may write what the terminal's encoding does not have.
        encoding = (sys.stderr if is_error else sys.stdout).encoding
        # A task may write what the terminal's encoding does not have.
        shown = text.encode(encoding, "backslashreplace").decode(encoding)
        try:
            # Each task has a thread that shows its lines.
            with self._lock:
                click.echo(shown, err=is_error)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise FileAccessError(
                f"The tasks' output can't be written ({error.strerror}), so they are ended. Make room where it goes."
            ) from error


def _conclude(outcome: "Outcome", screen: _Screen) -> None:
    from stratax.cluster.launching import describe

    if outcome.code == 0:
        return
    if outcome.ended_by and outcome.task is not None:
        screen.tell(f"{outcome.ended_by} came, and all tasks were ended. {outcome.task} {outcome.ending()}.")
        return
    if outcome.task is None:
        screen.tell(
            f"The run took longer than --timeout allows; all tasks were ended. {describe(outcome.code)}."
        )
        return
    last = _traceback_of(outcome.last_lines)
    how = f": it {outcome.ending()}" if outcome.how else f", with {describe(outcome.code)}"
    title = f"{outcome.task} failed first{how}. {outcome.remark}".rstrip()
    screen.tell(f"{title} What {outcome.witness or 'it'} wrote last:" if last else title, last)


def _traceback_of(lines: tuple[str, ...]) -> tuple[str, ...]:
    """Return the lines from the last traceback on, if there is one; else the last few lines."""
    starts = [
        place for place, line in enumerate(lines) if line.startswith("Traceback (most recent call last)")
    ]
    return lines[starts[-1] :] if starts else lines[-5:]
