"""Watching the tasks of a cluster, and starting them again (cluster layer)."""

import abc
import collections
import contextlib
import dataclasses
import json
import os
import secrets
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType

from stratax.cluster._exit import ExitCode, is_retryable
from stratax.cluster._launch_plan import LaunchPlan
from stratax.cluster._membership import JOB_ID_VARIABLE
from stratax.cluster._own_end import OWN_END_VARIABLE
from stratax.cluster._secret import SECRET_FILE_VARIABLE, SECRET_VARIABLE, new_secret
from stratax.cluster._sockets import remove_abandoned_sockets
from stratax.cluster._task import Screen, StartedTask, start_task

# Between two looks at the tasks, in seconds.
_POLL_SECONDS = 0.05
# Between SIGTERM and SIGKILL, in seconds.
_TERM_SECONDS = 5.0
# How long an open output may stay silent once its task has ended: children that it left may hold it open.
_IDLE_SECONDS = 2.0
_READ_SECONDS = 60.0
_PAUSES = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0)
# A free port is found and then released for its task: somebody else may take it in between.
_PORT_ATTEMPTS = 3
_LOST_PORT = "can't listen on its address"
# The exit code of a run that took longer than it may, as that of `timeout`.
TIMED_OUT = 124


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """How a run, or one attempt of it, ended.

    Attributes:
        code: The exit code: 0, or that of the task that failed first.
        task: Which one that was; None where none failed.
        how: What it did, where it did not end by itself.
        witness: The task that lost it then.
        last_lines: What it, or the witness, wrote last to its error output.
        remark: Why all tasks were not started again, though they might have been.
        is_trained: Whether training came to its end all the same.
        ended_by: The signal that told the launcher to end the run, if one did.
    """

    code: int
    task: str | None = None
    how: str = ""
    witness: str | None = None
    last_lines: tuple[str, ...] = ()
    remark: str = ""
    is_trained: bool = False
    ended_by: str = ""

    def ending(self) -> str:
        """Return in words how the task ended."""
        code = describe(self.code)
        return f"{self.how}, which counts as {code}" if self.how else f"ended with {code}"


class Launcher(abc.ABC):
    """Starts the tasks of a cluster."""

    @abc.abstractmethod
    def run(self) -> Outcome:
        """Start them, wait until they have ended, and say how."""


class LocalLauncher(Launcher):
    """Starts the tasks on this machine, with TF_CONFIG set to free ports of it.

    When a task fails, the others have a while to end by themselves and are then ended. If the failure is worth it
    (see `ExitCode`; a killed task is), all are started again, after a pause that doubles each time. An evaluator is
    started again alone, and so is a worker where there are parameter servers; where no restart is left, training goes
    on without it. SIGINT and SIGTERM are passed on to all tasks; the second one kills them. On Linux the tasks also end
    if this process is killed.

    Args:
        plan: What to start.
        screen: Takes what the tasks write, line by line, and messages of the launcher itself.
    """

    def __init__(self, plan: LaunchPlan, screen: Screen) -> None:
        self._plan = plan
        self._screen = screen
        self._tasks: list[StartedTask] = []
        self._signals = 0
        self._number = signal.Signals.SIGTERM
        # Where tasks leave word that they end by themselves, while some run.
        self._own_ends = ""
        self._is_waiting = False
        # How often a task was started again alone, and when, on the monotonic clock, it is the next time.
        self._renewals: collections.Counter[str] = collections.Counter()
        self._renew_at: dict[StartedTask, float] = {}
        self._deadline = None if plan.timeout is None else time.monotonic() + plan.timeout

    def run(self) -> Outcome:
        """Start the tasks, again if need be; return how the last attempt ended.

        Raises:
            FileAccessError: If the tasks' output can't be kept where it should.
            OSError: If what the tasks write can't be shown any more; then they have been ended.
        """
        # One cache for all attempts: a restart need not compile again.
        with self._forwarding(), _compilation_cache() as variables:
            for attempt in range(self._plan.restarts + 1):
                outcome = self._attempt_with_ports({**variables, "STRATAX_ATTEMPT": str(attempt)})
                if not self._is_worth_another(outcome, attempt):
                    break
                pause = _PAUSES[min(attempt, len(_PAUSES) - 1)]
                left = self._plan.restarts - attempt
                self._screen.tell(
                    f"{outcome.task} {outcome.ending()}; all tasks are started again in {pause:g} s {_say_left(left)}."
                )
                self._pause(pause)
                # A signal during the pause ends the run, which must not begin another attempt.
                if self._signals:
                    break
                if self._is_late():
                    return Outcome(code=TIMED_OUT)
        ended_by = self._number.name if self._signals else ""
        return dataclasses.replace(outcome, remark=self._remark(outcome), ended_by=ended_by)

    def _is_worth_another(self, outcome: Outcome, attempt: int) -> bool:
        if self._signals or attempt == self._plan.restarts or outcome.code in (0, TIMED_OUT):
            return False
        if outcome.is_trained:
            return False
        return is_retryable(outcome.code)

    def _remark(self, outcome: Outcome) -> str:
        if self._signals or not self._plan.restarts or outcome.code in (0, TIMED_OUT):
            return ""
        if is_retryable(outcome.code):
            return f"No restart is left of {self._plan.restarts}."
        return "The tasks are not started again: such a failure would come again."

    def _pause(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until and not self._signals and not self._is_late():
            time.sleep(_POLL_SECONDS)

    def _attempt_with_ports(self, variables: dict[str, str]) -> Outcome:
        """Make one attempt; repeat it with other ports if another program took one before its task did."""
        for left in reversed(range(_PORT_ATTEMPTS)):
            # The task ends with a code that is not retryable; only its words show that the port was the
            # reason.
            outcome = self._attempt(variables)
            lost = outcome.code == ExitCode.BAD_CLUSTER and any(
                _LOST_PORT in line for line in outcome.last_lines
            )
            if not lost or self._signals or not left:
                break
            self._screen.tell(f"Another program took the port of {outcome.task}; all tasks get other ports.")
        return outcome

    def _attempt(self, variables: dict[str, str]) -> Outcome:
        cluster = _free_cluster(self._plan)
        # By these the tasks tell one another from those of an earlier attempt, and from strangers.
        variables = {**variables, JOB_ID_VARIABLE: secrets.token_hex(8), SECRET_VARIABLE: new_secret()}
        own_ends = tempfile.TemporaryDirectory(prefix="stratax-ends-")
        self._own_ends, self._is_waiting = own_ends.name, False
        self._renew_at.clear()

        def start(job: str, index: int) -> StartedTask:
            environment = self._environment(job, index, cluster, variables)
            return start_task(job, index, self._plan.command, environment, self._screen, self._plan.log_dir)

        try:
            for job, index in self._plan.tasks():
                self._tasks.append(start(job, index))
                # One that came meanwhile.
                self._pass_signals_on()
            outcome = self._watch(start)
        finally:
            # Whatever happened, no task outlives the launcher.
            tasks = self._end_all()
            own_ends.cleanup()
            # Tasks that a signal ended have not removed theirs.
            remove_abandoned_sockets()
        for task in tasks:
            if task.unshown is not None:
                raise task.unshown
        failed = next((task for task in tasks if task.name == (outcome.witness or outcome.task)), None)
        return (
            outcome if failed is None else dataclasses.replace(outcome, last_lines=tuple(failed.last_lines))
        )

    def _environment(
        self, job: str, index: int, cluster: dict[str, list[str]], variables: dict[str, str]
    ) -> dict[str, str]:
        config = {"cluster": cluster, "task": {"type": job, "index": index}}
        environment = {**os.environ, **variables, "TF_CONFIG": json.dumps(config), "PYTHONUNBUFFERED": "1"}
        environment[OWN_END_VARIABLE] = self._own_end(job, index)
        # The secret of this attempt is in the environment, and two of them are an error.
        environment.pop(SECRET_FILE_VARIABLE, None)
        if self._plan.devices_per_worker is not None:
            environment["STRATAX_SIMULATE"] = f"{self._plan.kind}:{self._plan.devices_per_worker}"
        return environment

    def _watch(self, start: Callable[[str, int], StartedTask]) -> Outcome:
        """Wait until the tasks that train have ended, one failed, or the run may not go on; say which."""
        while True:
            is_trained = self._look()
            self._leave_out()
            # Others than those that train don't count, unless they said so: they may wait for work for ever.
            is_done = is_trained and not self._others_end_by_themselves()
            if any(task.has_failed for task in self._tasks):
                self._wait_for_others()
                return _judge(self._tasks)
            if is_done or any(task.unshown for task in self._tasks):
                return self._judge_done()
            if self._is_late():
                return Outcome(code=TIMED_OUT)
            self._renew(start)
            time.sleep(_POLL_SECONDS)

    def _leave_out(self) -> None:
        """See which tasks that the others don't need have failed as only killed tasks do."""
        for task in self._tasks:
            # After a signal all tasks end.
            if not task.has_failed or self._signals or not self._is_dispensable(task):
                continue
            if not is_retryable(task.process.returncode):
                continue
            if task.job == "worker" and self._is_last_worker(task):
                continue
            task.is_left_out = True
            ending = f"{task.name} ended with {describe(_shell_code(task.process.returncode))}"
            number = self._renewals[task.name]
            left = self._plan.restarts - number
            if not left:
                self._screen.tell(f"{ending}; training goes on without it.")
                continue
            pause = _PAUSES[min(number, len(_PAUSES) - 1)]
            self._renewals[task.name] += 1
            self._renew_at[task] = time.monotonic() + pause
            self._screen.tell(f"{ending}; it is started again alone in {pause:g} s {_say_left(left)}.")

    def _is_dispensable(self, task: StartedTask) -> bool:
        """Return whether the others go on without a task."""
        if task.job == "evaluator":
            return True
        # What workers of parameter servers have begun is done by others. Without a chief, the first is it. One that has
        # lost another task lost the chief or a server, which all need.
        is_chief = not self._plan.chief and task.index == 0
        has_lost = task.process.returncode == ExitCode.PEER_LOST
        return task.job == "worker" and self._plan.ps > 0 and not is_chief and not has_lost

    def _is_last_worker(self, task: StartedTask) -> bool:
        """Return whether nobody is left, nor comes again, whom the chief could have compute."""
        if self._renewals[task.name] < self._plan.restarts:
            return False
        chief = next(each for each in self._tasks if each.trains)
        others = [each for each in self._tasks if each.job == "worker" and each is not task]
        return chief.ended is None and all(
            each.ended is not None and each not in self._renew_at for each in others
        )

    def _renew(self, start: Callable[[str, int], StartedTask]) -> None:
        """Start tasks again whose pause is over."""
        due = [task for task, when in self._renew_at.items() if time.monotonic() >= when]
        for task in due if not self._signals else ():
            del self._renew_at[task]
            # What it started may still run, and write to the same files.
            task.kill()
            task.finish_reading(_IDLE_SECONDS, time.monotonic() + _IDLE_SECONDS)
            renewed = self._tasks[self._tasks.index(task)] = start(task.job, task.index)
            # It may have come after the others' end, of which nobody tells it.
            renewed.is_renewed = True
            self._pass_signals_on()

    def _judge_done(self) -> Outcome:
        """Say how a run ended whose training is done: an evaluator that was given up has failed."""
        for task in self._tasks:
            if task.job == "evaluator" and task.is_left_out and task not in self._renew_at:
                return Outcome(code=_shell_code(task.process.returncode), task=task.name, is_trained=True)
        return Outcome(code=0)

    def _others_end_by_themselves(self) -> bool:
        """Return whether a task runs that will end by itself behind those that train."""
        others = [
            task.name
            for task in self._tasks
            if (task.ended is None or task in self._renew_at)
            and os.path.exists(self._own_end(task.job, task.index))
        ]
        if others and not self._is_waiting:
            self._is_waiting = True
            self._screen.tell(f"Training has ended; {', '.join(others)} is waited for.")
        return bool(others)

    def _own_end(self, job: str, index: int) -> str:
        return os.path.join(self._own_ends, f"{job}-{index}")

    def _look(self) -> bool:
        """Note which tasks have ended; say whether all that train have."""
        for task in self._tasks:
            task.look()
        return all(task.ended is not None for task in self._tasks if task.trains and not task.is_renewed)

    def _wait_for_others(self) -> None:
        """Wait until the other tasks notice by themselves, as most do, and end those that do not."""
        # The others report best what has happened to them; a signal at once would cut that short.
        until = time.monotonic() + self._plan.grace
        while time.monotonic() < until and self._signals < 2 and not self._look():
            if all(task.is_stopped for task in self._tasks if task.trains and task.ended is None):
                break  # What is stopped will not notice.
            time.sleep(_POLL_SECONDS)

    def _is_late(self) -> bool:
        return self._deadline is not None and time.monotonic() > self._deadline

    def _end_all(self) -> list[StartedTask]:
        """End what still runs, first kindly, with everything that it started; return all tasks."""
        running = [task for task in self._tasks if task.process.poll() is None]
        for task in running:
            task.end()
        until = time.monotonic() + _TERM_SECONDS
        while any(task.process.poll() is None for task in running) and time.monotonic() < until:
            if self._signals > 1:
                break
            time.sleep(_POLL_SECONDS)
        # From here on signals reach no task any more.
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            # Also those that have ended: what they started may still run in their process group.
            task.kill()
        deadline = time.monotonic() + _READ_SECONDS
        for task in tasks:
            task.finish_reading(_IDLE_SECONDS, deadline)
        return tasks

    @contextlib.contextmanager
    def _forwarding(self) -> Iterator[None]:
        """Pass SIGINT and SIGTERM on to the tasks, for a block in the main thread."""
        # Python allows handlers of signals in the main thread only.
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
        self._number = signal.Signals(number)
        self._pass_signals_on()

    def _pass_signals_on(self) -> None:
        for task in self._tasks:
            # Each task gets each signal once, also one that was started after it.
            if task.signals < self._signals:
                task.signals = self._signals
                task.signal(self._number if self._signals == 1 else signal.SIGKILL)


def describe(code: int) -> str:
    """Return an exit code and what it means, in words.

    Example:
        >>> describe(201)
        'exit code 201 (PEER_LOST)'
    """
    names = {each.value: each.name for each in ExitCode} | {TIMED_OUT: "took too long"}
    if code > 128 and code not in names:
        with contextlib.suppress(ValueError):
            return f"exit code {code} (killed by {signal.Signals(code - 128).name})"
    return f"exit code {code} ({names[code]})" if code in names else f"exit code {code}"


def _say_left(left: int) -> str:
    return f"({left} {'restart' if left == 1 else 'restarts'} left)"


def _judge(tasks: list[StartedTask]) -> Outcome:
    """Find the task that failed first: where those that ended have only lost another, one that still runs."""
    failed = min((task for task in tasks if task.has_failed), key=_blame)
    code = failed.process.returncode
    running = [task for task in tasks if task.trains and task.ended is None]
    stopped = [task for task in running if task.is_stopped]
    # A stopped process is silent, so the others blame it by the clock; here it can be seen directly.
    if stopped and code in (ExitCode.PEER_LOST, ExitCode.START_TIMEOUT):
        how = "was stopped by a signal or a debugger"
        return Outcome(code=ExitCode.STALLED, task=stopped[0].name, how=how, witness=failed.name)
    if running and code == ExitCode.PEER_LOST:
        how = "did not notice that the others gave it up"
        return Outcome(code=ExitCode.STALLED, task=running[0].name, how=how, witness=failed.name)
    return Outcome(code=_shell_code(code), task=failed.name)


def _blame(task: StartedTask) -> tuple[bool, float]:
    """Sort the tasks that failed: one that only lost another comes after the others."""
    # False sorts first: a task that only lost another is named if no other failed.
    return task.process.returncode == ExitCode.PEER_LOST, task.ended or 0.0


def _shell_code(code: int) -> int:
    # `subprocess` reports a signal as a negative number, a shell as 128 and more.
    return 128 - code if code < 0 else code


def _free_cluster(plan: LaunchPlan) -> dict[str, list[str]]:
    """Return TF_CONFIG's cluster on free ports of this machine; an evaluator is not part of it."""
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
    """Keep compiled programs for the next start, unless the user does."""
    if "JAX_COMPILATION_CACHE_DIR" in os.environ:
        yield {}
        return
    with tempfile.TemporaryDirectory(prefix="stratax-compiled-") as folder:
        yield {"JAX_COMPILATION_CACHE_DIR": folder, "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
