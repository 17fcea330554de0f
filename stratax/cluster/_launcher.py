"""Starting the tasks of a cluster, watching them, and starting them again (cluster layer)."""

import abc
import collections
import contextlib
import dataclasses
import json
import os
import pathlib
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import IO, Any

from stratax.cluster._exit import ExitCode, is_retryable
from stratax.errors import BadArgumentError

_POLL_SECONDS = 0.05
_TERM_SECONDS = 5.0
_JOIN_SECONDS = 2.0
_FIRST_PAUSE = 1.0
_LONGEST_PAUSE = 60.0
_KEPT_LINES = 40
_PORT_ATTEMPTS = 3
_LOST_PORT = "can't listen on its address"
_WRAPPER = pathlib.Path(__file__).with_name("_end_with_parent.py")
TIMED_OUT = 124
"""The exit code of a run that took longer than it may, as that of `timeout`."""


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
        least = {"workers": 0 if self.chief else 1, "ps": 0, "restarts": 0, "devices_per_worker": 1}
        for name, minimum in least.items():
            value = getattr(self, name)
            if value is not None and value < minimum:
                raise BadArgumentError(f"{name} must be at least {minimum}. Received: {name}={value!r}.")
        if self.timeout is not None and not self.timeout > 0:
            raise BadArgumentError(f"timeout must be positive. Received: timeout={self.timeout!r}.")
        if not self.command:
            raise BadArgumentError("There is no program to start. Received: command=().")

    def tasks(self) -> list[tuple[str, int]]:
        """Every task's job and number, the chief first."""
        counts = {"chief": int(self.chief), "worker": self.workers, "ps": self.ps}
        placed = [(job, index) for job, count in counts.items() for index in range(count)]
        return [*placed, *([("evaluator", 0)] if self.evaluator else [])]


Sink = Callable[[str, str, bool], None]
"""Takes a task's name, a line that it wrote, and whether to its error output."""


@dataclasses.dataclass(slots=True)
class Task:
    """A started task.

    Attributes:
        job: Its job.
        index: Its number in the job.
        process: Its process.
        last_lines: The last lines of its error output.
        ended: When it was found to have ended, on the monotonic clock, in seconds; None before.
    """

    job: str
    index: int
    process: subprocess.Popen
    last_lines: collections.deque[str]
    ended: float | None = None
    readers: list[threading.Thread] = dataclasses.field(default_factory=list)

    @property
    def name(self) -> str:
        """How messages call it."""
        return f"{self.job} {self.index}"

    @property
    def trains(self) -> bool:
        """Whether the run is done when this task and its like are."""
        return self.job in ("chief", "worker")

    def signal(self, number: int) -> None:
        """Sends a signal to everything that the task started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """How a run, or one attempt of it, ended.

    Attributes:
        code: The exit code: 0, or that of the task that failed first.
        task: Which one that was; None where none failed.
        last_lines: What it wrote last to its error output.
    """

    code: int
    task: str | None = None
    last_lines: tuple[str, ...] = ()


class Launcher(abc.ABC):
    """Starts the tasks of a cluster."""

    @abc.abstractmethod
    def run(self) -> Outcome:
        """Starts them, waits until they have ended, and says how."""


class LocalLauncher(Launcher):
    """Starts the tasks on this machine, with TF_CONFIG set to free ports of it.

    When a task fails, the others have a while to end by themselves and are then ended. If the failure is worth it
    (see `ExitCode`; a killed task is), all are started again, after a pause that doubles each time. SIGINT and SIGTERM
    are passed on to all tasks; the second one kills them. On Linux the tasks also end if this process is killed.

    Args:
        plan: What to start.
        sink: Takes what the tasks write, line by line.
        tell: Takes messages of the launcher itself.
    """

    def __init__(self, plan: LaunchPlan, sink: Sink, tell: Callable[[str], None]) -> None:
        self._plan = plan
        self._sink = sink
        self._tell = tell
        self._tasks: list[Task] = []
        self._signals = 0
        self._deadline = None if plan.timeout is None else time.monotonic() + plan.timeout

    def run(self) -> Outcome:
        """Starts the tasks, again if need be; returns how the last attempt ended."""
        with self._forwarding(), _compilation_cache() as variables:
            for attempt in range(self._plan.restarts + 1):
                outcome = self._attempt_with_ports({**variables, "STRATAX_ATTEMPT": str(attempt)})
                if not self._is_worth_another(outcome, attempt):
                    break
                pause = min(_FIRST_PAUSE * 2**attempt, _LONGEST_PAUSE)
                left = self._plan.restarts - attempt
                self._tell(
                    f"{outcome.task} ended with {describe(outcome.code)}; all tasks are started again in {pause:g} s "
                    f"({left} {'restart' if left == 1 else 'restarts'} left)."
                )
                self._pause(pause)
        return outcome

    def _is_worth_another(self, outcome: Outcome, attempt: int) -> bool:
        if self._signals or attempt == self._plan.restarts or outcome.code in (0, TIMED_OUT):
            return False
        return is_retryable(outcome.code)

    def _pause(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until and not self._signals:
            time.sleep(_POLL_SECONDS)

    def _attempt_with_ports(self, variables: dict[str, str]) -> Outcome:
        """One attempt; again with other ports where somebody else took one before its task did."""
        for _ in range(_PORT_ATTEMPTS):
            outcome = self._attempt(variables)
            lost = outcome.code == ExitCode.BAD_CLUSTER and any(
                _LOST_PORT in line for line in outcome.last_lines
            )
            if not lost or self._signals:
                break
        return outcome

    def _attempt(self, variables: dict[str, str]) -> Outcome:
        cluster = _free_cluster(self._plan)
        # By it the tasks tell one another from those of an earlier attempt.
        variables = {**variables, "STRATAX_JOB_ID": secrets.token_hex(8)}
        try:
            for job, index in self._plan.tasks():
                self._tasks.append(self._start(job, index, cluster, variables))
            failed = self._watch()
        finally:
            self._end_all()
        code = TIMED_OUT if self._is_late() and failed is None else 0
        if failed is None:
            return Outcome(code=code)
        return Outcome(
            code=_shell_code(failed.process.returncode), task=failed.name, last_lines=tuple(failed.last_lines)
        )

    def _start(self, job: str, index: int, cluster: dict[str, list[str]], variables: dict[str, str]) -> Task:
        config = {"cluster": cluster, "task": {"type": job, "index": index}}
        environment = {**os.environ, **variables, "TF_CONFIG": json.dumps(config), "PYTHONUNBUFFERED": "1"}
        if self._plan.devices_per_worker is not None:
            environment["STRATAX_SIMULATE"] = f"{self._plan.kind}:{self._plan.devices_per_worker}"
        process = subprocess.Popen(
            [sys.executable, "-S", str(_WRAPPER), str(os.getpid()), *self._plan.command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            start_new_session=True,
        )
        task = Task(job, index, process, collections.deque(maxlen=_KEPT_LINES))
        for stream, is_error in ((process.stdout, False), (process.stderr, True)):
            reader = threading.Thread(target=self._read, args=(task, stream, is_error), daemon=True)
            reader.start()
            task.readers.append(reader)
        return task

    def _read(self, task: Task, stream: IO[bytes], is_error: bool) -> None:
        with _log(self._plan.log_dir, task, is_error) as log, stream:
            for raw in stream:
                log.write(raw)
                # Of a progress bar that writes over itself, how it looked last.
                line = raw.decode(errors="replace").rstrip("\r\n").rsplit("\r", 1)[-1].replace("\b", "")
                if is_error:
                    task.last_lines.append(line)
                self._sink(task.name, line, is_error)

    def _watch(self) -> Task | None:
        """Waits until the tasks that train have ended, or one failed; returns that one."""
        while True:
            now = time.monotonic()
            for task in self._tasks:
                if task.ended is None and task.process.poll() is not None:
                    task.ended = now
            failed = self._failed()
            if failed:
                self._wait_for_others(now)
                return min(self._failed(), key=_blame)
            if all(task.ended is not None for task in self._tasks if task.trains) or self._is_late():
                return None
            time.sleep(_POLL_SECONDS)

    def _failed(self) -> list[Task]:
        return [task for task in self._tasks if task.ended is not None and task.process.returncode != 0]

    def _wait_for_others(self, since: float) -> None:
        """They notice by themselves, mostly, and say so; who does not is ended."""
        while time.monotonic() < since + self._plan.grace and self._signals < 2:
            for task in self._tasks:
                if task.ended is None and task.process.poll() is not None:
                    task.ended = time.monotonic()
            if all(task.ended is not None for task in self._tasks if task.trains):
                return
            time.sleep(_POLL_SECONDS)

    def _is_late(self) -> bool:
        return self._deadline is not None and time.monotonic() > self._deadline

    def _end_all(self) -> None:
        """Ends what still runs, first kindly, with everything that it started."""
        running = [task for task in self._tasks if task.process.poll() is None]
        for task in running:
            task.signal(signal.SIGTERM)
        until = time.monotonic() + _TERM_SECONDS
        while any(task.process.poll() is None for task in running) and time.monotonic() < until:
            if self._signals > 1:
                break
            time.sleep(_POLL_SECONDS)
        for task in self._tasks:
            task.signal(signal.SIGKILL)
            task.process.wait()
            for reader in task.readers:
                reader.join(_JOIN_SECONDS)
        self._tasks.clear()

    @contextlib.contextmanager
    def _forwarding(self) -> Iterator[None]:
        """Passes SIGINT and SIGTERM on to the tasks, for a block in the main thread."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self._forward) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _forward(self, number: int, frame: FrameType | None) -> None:
        self._signals += 1
        for task in self._tasks:
            task.signal(number if self._signals == 1 else signal.SIGKILL)


def describe(code: int) -> str:
    """An exit code and what it means, in words.

    Example:
        >>> describe(201)
        'exit code 201 (PEER_LOST)'
    """
    names = {each.value: each.name for each in ExitCode} | {TIMED_OUT: "took too long"}
    if code > 128 and code not in names:
        with contextlib.suppress(ValueError):
            return f"exit code {code} (killed by {signal.Signals(code - 128).name})"
    return f"exit code {code} ({names[code]})" if code in names else f"exit code {code}"


def _blame(task: Task) -> tuple[bool, float]:
    """Sorts the tasks that failed: one that only lost another comes after the others."""
    return task.process.returncode == ExitCode.PEER_LOST, task.ended or 0.0


def _shell_code(code: int) -> int:
    return 128 - code if code < 0 else code


def _free_cluster(plan: LaunchPlan) -> dict[str, list[str]]:
    """TF_CONFIG's cluster on free ports of this machine; an evaluator is not part of it."""
    jobs = [job for job, _ in plan.tasks() if job != "evaluator"]
    cluster: dict[str, list[str]] = {job: [] for job in jobs}
    with contextlib.ExitStack() as stack:
        for job in jobs:
            # All at once, so that they differ.
            each = stack.enter_context(socket.socket())
            each.bind(("127.0.0.1", 0))
            cluster[job].append(f"127.0.0.1:{each.getsockname()[1]}")
    return cluster


@contextlib.contextmanager
def _compilation_cache() -> Iterator[dict[str, str]]:
    """Keeps compiled programs for the next start, unless the user does."""
    if "JAX_COMPILATION_CACHE_DIR" in os.environ:
        yield {}
        return
    with tempfile.TemporaryDirectory(prefix="stratax-compiled-") as folder:
        yield {"JAX_COMPILATION_CACHE_DIR": folder, "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}


@contextlib.contextmanager
def _log(folder: pathlib.Path | None, task: Task, is_error: bool) -> Iterator[Any]:
    if folder is None:
        with open(os.devnull, "wb") as nowhere:
            yield nowhere
        return
    folder.mkdir(parents=True, exist_ok=True)
    name = f"{task.job}-{task.index}.{'err' if is_error else 'out'}"
    with open(folder / name, "ab") as log:
        yield log


def command_of(program: str, arguments: Sequence[str], *, is_module: bool) -> tuple[str, ...]:
    """The command that runs a Python program.

    Args:
        program: A file, or with `is_module` the name of a module.
        arguments: Its arguments.
        is_module: Whether it is run as `python -m`.

    Raises:
        BadArgumentError: If there is no such file.
    """
    if not is_module and not pathlib.Path(program).is_file():
        raise BadArgumentError(
            f"There is no such program. Expected: a Python file, or -m and a module. Received: program={program!r}."
        )
    return (sys.executable, *(["-m"] if is_module else []), program, *arguments)
