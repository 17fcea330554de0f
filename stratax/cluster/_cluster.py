"""`Cluster`: what a connected process can do together with the others (cluster layer)."""

import asyncio
import re
import sys
import threading
import traceback
from typing import TYPE_CHECKING, Any

from stratax.base.shown import shown
from stratax.cluster._cluster_spec import ClusterSpec
from stratax.cluster._exit import ExitCode, code_of, leave
from stratax.cluster._phases import progress, step_number
from stratax.cluster._stops import PROGRAM, Stop, Stops
from stratax.cluster._watchdog import Limits
from stratax.errors import BadArgumentError, BadTypeError, ClusterTimeoutError, PeerLostError

if TYPE_CHECKING:
    # What connects tasks is loaded where there are several.
    from stratax.cluster._link import Link
    from stratax.cluster._membership import Membership

# How long a wait for other tasks may take where nothing else is said.
DEFAULT_SECONDS = 300.0

# How long the program has to notice a failure by itself, before the process ends.
_GRACE_SECONDS = 1.0
# How long a program that has noticed may go on, to save or to clean up.
_CLEANUP_SECONDS = 30.0
# How long the cluster may take to find out whose loss an error came from.
_NOTICE_SECONDS = 2.0
_CODES_AT_FAULT = {
    "left": ExitCode.LEFT_EARLY,
    "raised": ExitCode.USER_ERROR,
    "silent": ExitCode.STALLED,
    "stalled": ExitCode.STALLED,
}
# What Gloo, NCCL, gRPC and XLA say when a connection breaks under a collective: none has an error class for
# it.
_COLLECTIVE = re.compile(
    r"gloo|connection (reset|closed|refused)|socket closed|broken pipe|nccl|unavailable|deadline_exceeded|"
    r"coordination service|all.?reduce|all.?gather|collective|rendezvous|timed out waiting",
    re.IGNORECASE,
)


class Cluster:
    """The tasks that work together, and this one's connection to them. `connect` makes it.

    Where this process is alone (no TF_CONFIG, one task, or a task that computes on its own such as an evaluator),
    everything works and there is nobody to wait for.

    Args:
        cluster_spec: The cluster.
        task_type: This process's job.
        task_id: Its number in the job.
        roster: The tasks that compute together; None where this process is alone.
    """

    def __init__(
        self,
        cluster_spec: ClusterSpec,
        task_type: str | None,
        task_id: int | None,
        roster: "Membership | None" = None,
    ) -> None:
        self._cluster_spec = cluster_spec
        self._task = (task_type, task_id)
        self._membership = roster
        self._link: Link | None = None
        self._is_notified = False
        # For a process that is alone; a connected one has its link's.
        self._own_stops = Stops()

    @property
    def cluster_spec(self) -> ClusterSpec:
        """The whole cluster; empty where this process is alone."""
        return self._cluster_spec

    @property
    def task_type(self) -> str | None:
        """The job of this process, such as ``"worker"``."""
        return self._task[0]

    @property
    def task_id(self) -> int | None:
        """This process's number in its job."""
        return self._task[1]

    @property
    def process_index(self) -> int:
        """This process's number among those that compute together; the chief, or worker 0 without one, has 0."""
        return 0 if self._membership is None else self._membership.index

    @property
    def num_processes(self) -> int:
        """How many processes compute together."""
        return 1 if self._membership is None else len(self._membership.names)

    @property
    def is_chief(self) -> bool:
        """Whether this is process 0, which writes what is to be written once."""
        return self.process_index == 0

    @property
    def stop_reason(self) -> str | None:
        """Why some task asked all to stop; None while none has."""
        return self._stops.get(PROGRAM).reason

    def task_name(self, process_index: int | None = None) -> str:
        """Return the name of a task, for example ``"/job:worker/task:1"``.

        Args:
            process_index: The number of its process; None: this one.

        Raises:
            BadArgumentError: If there is no such process.
        """
        index = self.process_index if process_index is None else process_index
        if not 0 <= index < self.num_processes:
            raise BadArgumentError(
                f"There are {self.num_processes} processes. Received: process_index={shown(process_index)}."
            )
        if self._membership is None:
            return f"/job:{self.task_type or 'worker'}/task:{self.task_id or 0}"
        return self._membership.names[index]

    def barrier(self, name: str, timeout: float = DEFAULT_SECONDS) -> None:
        """Wait until every task has come to this point.

        Args:
            name: The point's name; every task gives the same.
            timeout: How long to wait, in seconds.

        Raises:
            ClusterTimeoutError: If a task does not come in time; `tasks` and the message name the missing ones.
            PeerLostError: If another task is lost.
        """
        self._gather(f"barrier/{name}", b"", everything=False, timeout=timeout)

    def all_gather(
        self,
        name: str,
        value: bytes,
        timeout: float = DEFAULT_SECONDS,
        *,
        stop: threading.Event | None = None,
    ) -> list[bytes]:
        """Give every task the values of all.

        Args:
            name: What the value is; every task gives the same, and may use it again when the call has returned.
            value: This task's value.
            timeout: How long to wait for the others, in seconds.
            stop: Ends the wait before its time when it is set, in another thread.

        Returns:
            The values in the order of the processes.

        Raises:
            BadTypeError: If `value` is not bytes.
            ClusterTimeoutError: If a task gives none in time, or before `stop` is set; `tasks` and the message name
                the missing ones.
            PeerLostError: If another task is lost.
        """
        return self._gather(f"all_gather/{name}", value, everything=True, timeout=timeout, stop=stop)

    def find_elsewhere(self, what: str) -> list[int]:
        """Return the tasks that are not on their way to where this one waits for them.

        They have begun a later step than this one, or wait for something else. For a moment that may be so of a task
        that has come and gone on, until the answer is here.

        Args:
            what: What this task waits for, in the words of `phases.waiting`.
        """
        heartbeats = [] if self._link is None else self._link.heartbeats
        own = progress.last_step or 0
        return [
            index
            for index, each in enumerate(heartbeats)
            if index != self.process_index
            and each.left is None
            and ((each.last_step or 0) > own or each.waits_for not in (None, what))
        ]

    def broadcast(self, name: str, value: bytes | None, timeout: float = DEFAULT_SECONDS) -> bytes:
        """Give every task the chief's value. All tasks call it, and wait for one another.

        Args:
            name: What the value is; every task gives the same, and may use it again when the call has returned.
            value: The value; what other tasks than the chief give does not matter, and may be None.
            timeout: How long to wait for the others, in seconds.

        Returns:
            The chief's value.

        Raises:
            BadTypeError: If the chief's value is not bytes.
            ClusterTimeoutError: If a task does not call in time; `tasks` and the message name the missing ones.
            PeerLostError: If another task is lost.
        """
        # The others take part with nothing: the answer comes when all have asked.
        own: Any = value if self.is_chief else b""
        return self._gather(f"broadcast/{name}", own, everything=False, timeout=timeout)[0]

    def request_stop(self, reason: str, *, name: str = PROGRAM) -> None:
        """Ask all tasks to stop at a common step; may be called in any thread and in a signal's handler.

        Args:
            reason: Why; for the whole program every task finds it in `stop_reason`.
            name: What is to stop: the whole program, or a loop in it whose name all tasks know. A name is for one stop.
        """
        if self._link is None:
            self._own_stops.note_asked(name, reason)
        else:
            self._link.send({"t": "stop", "name": name, "reason": reason})

    def agree_on_stop(self, step: int, timeout: float = DEFAULT_SECONDS, *, name: str = PROGRAM) -> bool:
        """Return whether to stop before this step. Every task calls it before each step, and all stop at the same one.

        It costs next to nothing until some task has called `request_stop`; then the tasks agree once on the first
        step that none of them has begun. That takes a message to each and back, and does not wait for their programs.

        Args:
            step: The number of the step that would come next.
            timeout: How long the agreement may take, in seconds.
            name: What is to stop, as in `request_stop`.

        Returns:
            Whether the stop has been reached.

        Raises:
            BadTypeError: If `step` is no integer.
            ClusterTimeoutError: If the agreement takes longer.
            PeerLostError: If another task is lost.
        """
        stop = self._stops.get(name)
        # In this order, see `Stops.asked`.
        # Said before the reason is looked for, so that whoever asks meanwhile learns of this step.
        stop.begun = step = step_number(step)
        if stop.reason is None:
            return False
        return self._link is None or step >= self._agree(stop, name, timeout)

    def _agree(self, stop: Stop, name: str, timeout: float) -> int:
        self.check()
        try:
            return stop.agreed.result(timeout)
        except PeerLostError as error:
            # The error was made on the event loop's thread; its traceback would say nothing.
            raise self._deliver(error) from None
        except TimeoutError:
            raise ClusterTimeoutError(
                f"The tasks did not settle within {timeout:g} s where to stop {shown(name)}. Give them more "
                "with timeout=."
            ) from None

    @property
    def _stops(self) -> Stops:
        return self._own_stops if self._link is None else self._link.stops

    @property
    def step_timeout(self) -> float:
        """How long a step may take while another task stands still, in seconds; see `set_step_timeout`."""
        return Limits().step if self._link is None else self._link.step_limit

    def set_step_timeout(self, seconds: float) -> None:
        """Set how long a step may take while another task stands still, for all tasks.

        Args:
            seconds: The limit. Compiling, evaluating and saving do not count.

        Raises:
            BadArgumentError: If it is not positive.
        """
        if not seconds > 0:
            raise BadArgumentError(f"A step's limit must be positive. Received: seconds={shown(seconds)}.")
        if self._link is not None:
            self._link.send({"t": "limit", "step": float(seconds)})

    def check(self) -> None:
        """Raise if another task is lost; costs next to nothing.

        Raises:
            PeerLostError: If it is.
        """
        if self._link is not None and self._link.failure is not None:
            raise self._deliver(self._link.failure)

    def peer_error(self, error: BaseException, timeout: float = _NOTICE_SECONDS) -> PeerLostError | None:
        """Find out whether an exception came from the loss of another task.

        What a collective raises when a connection breaks does not say whose; the cluster knows, or will in a moment.

        Args:
            error: What was raised, by a collective or whatever waited for its result.
            timeout: How long to wait for the news, in seconds.

        Returns:
            The error that names the lost task; None if `error` has nothing to do with the cluster.
        """
        link = self._link
        if link is None or isinstance(error, PeerLostError | ClusterTimeoutError):
            return None
        # Most errors are the program's own: they must not wait for news.
        if link.failure is None and not _is_of_collective(error):
            return None
        # Process 0 may have left without a failure: then its end is what broke the collective.
        lost = link.failure or (link.failed.wait(timeout) and link.failure) or link.ended
        return self._deliver(lost) if lost else None

    def attach(self, link: "Link") -> None:
        """Take the connection to the other tasks; called by `connect` once they all have joined.

        Args:
            link: The connection.
        """
        self._link = link
        progress.guard = self

    def on_failure(self, link: "Link") -> None:
        """End this process in a while if the program does not do so by itself; called on the event loop.

        Args:
            link: The connection, which knows the error.
        """
        loop = asyncio.get_running_loop()
        # A program that waits in a collective can't be reached by an exception: its process is ended.
        loop.call_later(_GRACE_SECONDS, self._leave_if_untold, link)
        loop.call_later(_CLEANUP_SECONDS, self._leave, link)

    def raised(self, error: BaseException, trace: str) -> tuple[int, str]:
        """Tell the others how this program ends.

        Args:
            error: What it raised.
            trace: The traceback.

        Returns:
            The exit code, and what to say besides: which task is lost, if that is why, and the error does not name it.
        """
        peer = self.peer_error(error)
        # A failure that is known already is the cause; this task's error follows from it.
        if self._link is not None and self._link.failure is None:
            self._link.report_own_failure(f"raised {_short(error)}", trace, _NOTICE_SECONDS)
        return (
            (code_of(error), "") if peer is None else (ExitCode.PEER_LOST, f"stratax: PeerLostError: {peer}")
        )

    @property
    def has_joined(self) -> bool:
        """Whether this process is connected to others."""
        return self._link is not None

    def meet_at_exit(self, timeout: float) -> None:
        """Leave the program together with the others, as far as they come in time.

        Args:
            timeout: How long to wait for them, in seconds.
        """
        link = self._link
        if link is None or link.failure is not None:
            return
        # Together, since process 0 carries JAX's traffic: who leaves early would end the others.
        link.send({"t": "bye", **progress.heartbeat()})
        link.farewell.wait(timeout)

    def _gather(
        self,
        name: str,
        value: object,
        *,
        everything: bool,
        timeout: float,
        stop: threading.Event | None = None,
    ) -> list[bytes]:
        if not isinstance(value, bytes):
            raise BadTypeError(f"A value for other tasks must be bytes. Received: {name}={shown(value)}.")
        if self._link is None:
            return [value]
        try:
            return self._link.gather(name, value, everything, timeout, stop)
        except PeerLostError as error:
            raise self._deliver(error) from None

    def _deliver(self, error: PeerLostError) -> PeerLostError:
        """Note that the program learns of the failure, so that it gets the time to end by itself."""
        # Only the main thread can end the program; a background thread may swallow the error.
        if progress.thread == threading.get_ident():
            self._is_notified = True
        return error

    def _leave_if_untold(self, link: "Link") -> None:
        if not self._is_notified:
            self._leave(link)

    def _leave(self, link: "Link") -> None:
        at_fault = link.failed_tasks == (self.process_index,)
        code = _CODES_AT_FAULT.get(link.failure_kind, ExitCode.PEER_LOST) if at_fault else ExitCode.PEER_LOST
        leave(code, f"stratax: {link.failure}{_where() if code == ExitCode.STALLED else ''}")


def _where() -> str:
    """Return where the program's main thread is: of use in a task that stands still."""
    # The one way to see another thread's stack; Python's documentation allows it for debugging.
    frame = sys._current_frames().get(progress.thread)
    stack = "".join(traceback.format_stack(frame)).rstrip() if frame is not None else "(it has ended)"
    return f"\nIts main thread is at:\n{stack}"


def _is_of_collective(error: BaseException) -> bool:
    return isinstance(error, ValueError | RuntimeError | OSError) and bool(_COLLECTIVE.search(str(error)))


def _short(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".partition("\n")[0][:500]
