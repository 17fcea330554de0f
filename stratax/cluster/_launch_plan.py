"""What `stratax launch` starts (cluster layer)."""

import dataclasses
import pathlib
import sys
from collections.abc import Sequence

from stratax.base.shown import shown
from stratax.cluster._plan_checks import check_least
from stratax.errors import BadArgumentError


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class LaunchPlan:
    """What to start.

    Attributes:
        command: The program and its arguments, as for `subprocess`.
        workers: How many workers, at least 1.
        chief: Whether there is a chief besides the workers.
        evaluator: Whether there is an evaluator.
        ps: How many parameter servers.
        devices_per_worker: How many devices each task simulates; None: those that it finds.
        kind: What they are: ``"cpu"``, ``"gpu"`` or ``"tpu"``.
        restarts: How often all tasks may be started again after a failure that is worth it.
        timeout: How long the whole may take, in seconds; None for no limit.
        grace: How long the other tasks have to end by themselves once one has failed, in seconds.
        log_dir: Where each task's output goes too, in files of its own; None for nowhere.

    Raises:
        BadArgumentError: If a number is too small or there is no command.
    """

    command: tuple[str, ...]
    workers: int = 1
    chief: bool = False
    evaluator: bool = False
    ps: int = 0
    devices_per_worker: int | None = None
    kind: str = "cpu"
    restarts: int = 0
    timeout: float | None = None
    grace: float = 15.0
    log_dir: pathlib.Path | None = None

    def __post_init__(self) -> None:
        # A chief trains as well, so that a cluster may consist of it alone.
        least = {"workers": 0 if self.chief else 1, "ps": 0, "restarts": 0, "grace": 0}
        for name, minimum in least.items():
            check_least(name, getattr(self, name), minimum)
        check_least(
            "devices_per_worker", 1 if self.devices_per_worker is None else self.devices_per_worker, 1
        )
        # Written so that NaN is refused, too.
        if self.timeout is not None and not self.timeout > 0:
            raise BadArgumentError(f"timeout must be positive. Received: timeout={shown(self.timeout)}.")
        if not self.command:
            raise BadArgumentError("There is no program to start. Received: command=().")

    def tasks(self) -> list[tuple[str, int]]:
        """Return every task's job and number, the chief first."""
        counts = {"chief": int(self.chief), "worker": self.workers, "ps": self.ps}
        placed = [(job, index) for job, count in counts.items() for index in range(count)]
        return [*placed, *([("evaluator", 0)] if self.evaluator else [])]


def command_of(program: str, arguments: Sequence[str], *, is_module: bool) -> tuple[str, ...]:
    """Return the command that runs a Python program.

    Args:
        program: A file, or with `is_module` the name of a module.
        arguments: Its arguments.
        is_module: Whether it is run as `python -m`.

    Raises:
        BadArgumentError: If there is no such file.
    """
    if not is_module and not pathlib.Path(program).is_file():
        raise BadArgumentError(
            "There is no such program. Expected: a Python file, or -m and a module. Received: "
            f"program={shown(program)}."
        )
    # The interpreter that runs here, with the packages of its environment.
    return (sys.executable, *(["-m"] if is_module else []), program, *arguments)
