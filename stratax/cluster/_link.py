"""A task's connection to its cluster's coordinator (cluster layer)."""

import asyncio
import concurrent.futures
import contextlib
import dataclasses
import itertools
import logging
import threading
import time
from collections.abc import Callable
from typing import Any

from stratax.base.shown import shown
from stratax.cluster._channel import Channel, UnansweredError, open_channel
from stratax.cluster._frames import Frame, encode
from stratax.cluster._handshake import JAX, TASK
from stratax.cluster._membership import JOB_ID_VARIABLE, Membership
from stratax.cluster._phases import progress
from stratax.cluster._relay import carry
from stratax.cluster._secret import SECRET_FILE_VARIABLE, SECRET_VARIABLE
from stratax.cluster._sockets import socket_path
from stratax.cluster._stops import Stops
from stratax.cluster._watchdog import Heartbeat, Limits, longest_silence
from stratax.errors import ClusterError, ClusterTimeoutError, PeerLostError

# How often a task sends a heartbeat.
HEARTBEAT_SECONDS = 0.5

# By so many heartbeats this process is late if it was the one that could not run.
_LATE_HEARTBEATS = 4
_FIRST_PAUSE = 0.05
# Between two attempts to connect, in seconds: from the first pause on, each is twice the one before.
_LONGEST_PAUSE = 1.0
# How often a task says that it can't reach the coordinator yet.
_REPORT_SECONDS = 10.0
# How long something that listens at the coordinator's address may say nothing.
_ANSWER_SECONDS = 10.0
# How often a wait looks whether it is still wanted.
_STOP_SECONDS = 0.05
# So many connections in a row that are closed without a word are no coordinator that is just ending.
_MOST_UNANSWERED = 5

_logger = logging.getLogger("stratax")


class Link:
    """The connection of one task. Its work is done on an event loop in a thread of its own.

    Args:
        membership: The tasks, and which one this is.
        limits: The deadlines; of these only the silence of the coordinator is judged here.
        on_failure: Called once on the loop when another task, or this one, is found at fault.

    Attributes:
        failure: The error that ended the cluster's work; None while all is well.
        ended: The error of whoever still needs the coordinator after its task has left, as it may; None until then.
        failure_kind: The verdict's kind: ``"died"``, ``"raised"``, ``"silent"``, ``"stalled"``, ``"left"`` or
            ``"config"``.
        failed_tasks: The numbers of the tasks at fault.
        stops: What the tasks may stop together, by name.
        farewell: Set when all tasks have left.
    """

    def __init__(self, membership: Membership, limits: Limits, on_failure: Callable[["Link"], None]) -> None:
        self.failure: PeerLostError | None = None
        self.ended: PeerLostError | None = None
        self.failure_kind = ""
        self.failed_tasks: tuple[int, ...] = ()
        self.stops = Stops()
        self.farewell = threading.Event()
        self.failed = threading.Event()
        self._membership = membership
        self._limits = limits
        self._on_failure = on_failure
        # Made on the loop, whose thread alone touches what follows; other threads use `call_soon_threadsafe`.
        self._loop = asyncio.get_running_loop()
        self._channel: Channel | None = None
        # One for each attempt, as a future can be answered once.
        self._complete: asyncio.Future[str] = self._loop.create_future()
        self._missing: tuple[str, ...] = (membership.names[0],)
        self._gave_up: tuple[str, ...] = ()
        self._turned_away = (0, "")
        self._requests: dict[int, concurrent.futures.Future[list[bytes]]] = {}
        self._numbers = itertools.count()
        self._heartbeats: list[Heartbeat] = []
        self._heard = time.monotonic()
        self._token = ""
        self._joined = False
        self._greeted = False
        self._work: set[asyncio.Task] = set()
        # Connections of JAX that are kept open though nothing answers any more; see `_relay`.
        self._held: list[asyncio.StreamWriter] = []

    async def join(self, deadline: float) -> None:
        """Connect, introduce this task, and wait until all have joined.

        Args:
            deadline: When to give up, on the monotonic clock.

        Raises:
            ClusterError: If the coordinator refuses this task, or does not answer because it has another secret.
            ClusterTimeoutError: If somebody is missing at the deadline.
        """
        pause = _FIRST_PAUSE
        while not await self._try_to_join(deadline):
            # What listens there is another program, or process 0 of an earlier start that is just ending.
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
        # The silence counts from here: joining may have taken long.
        self._hear()
        self._keep(self._send_heartbeats())

    async def _try_to_join(self, deadline: float) -> bool:
        """Make one connection, and wait; say whether the cluster is complete, or the connection was in vain."""
        self._complete = self._loop.create_future()
        self._channel = await self._reach_coordinator(deadline, TASK)
        self._channel.write(encode(self._membership.introduction()))
        listening = self._keep(self._listen(self._channel))
        # Something may accept the connection and say nothing, such as another program at this port.
        silence = self._loop.call_later(_ANSWER_SECONDS, self._give_up_stranger)
        try:
            remaining = max(deadline - time.monotonic(), 0)
            # `wait_for` cancels what it waits for; the future is still needed when the wait is over: shielded.
            self._token = await asyncio.wait_for(asyncio.shield(self._complete), remaining)
            return True
        # Not an error of this task: it tries again until the deadline.
        except ConnectionError:
            listening.cancel()
            self._channel.close()
            return False
        except TimeoutError:
            raise self._incomplete() from None
        finally:
            silence.cancel()

    def _give_up_stranger(self) -> None:
        """End a connection to something that has not answered: a coordinator says at once who is missing."""
        if not self._complete.done() and not self._greeted:
            self._complete.set_exception(ConnectionError("no answer"))

    async def open_relay(self) -> str:
        """Open the local socket that stands for JAX' service at process 0.

        Returns:
            Its path.
        """
        path = socket_path("relay")
        server = await asyncio.start_unix_server(self._relay, path=path)
        self._keep(server.serve_forever())
        return path

    def gather(
        self, name: str, value: bytes, everything: bool, timeout: float, stop: threading.Event | None = None
    ) -> list[bytes]:
        """Send a value and wait for those of the others; callable from every thread but the loop's.

        Args:
            name: What the value is; every task sends one under this name.
            value: The value.
            everything: Whether all values are wanted, or process 0's only.
            timeout: How long to wait for the others, in seconds.
            stop: Ends the wait when it is set.

        Returns:
            The values by process, or process 0's alone.

        Raises:
            ClusterTimeoutError: If a task does not send one in time.
            PeerLostError: If another task is lost.
        """
        number = next(self._numbers)
        # Of `concurrent.futures`, as the caller's thread waits and the loop's thread answers.
        answer: concurrent.futures.Future[list[bytes]] = concurrent.futures.Future()
        # What another thread waits for, which can be stopped, the program itself may never ask for.
        is_ahead = stop is not None and threading.get_ident() != progress.thread
        request = {"t": "gather", "name": name, "id": number, "all": everything, "ahead": is_ahead}
        self._loop.call_soon_threadsafe(self._ask, number, answer, encode(request, value))
        is_late = not _wait_settled(answer, timeout, stop)
        if is_late:
            self.send({"t": "withdraw", "name": name, "id": number})
        try:
            # The coordinator says who is missing, unless the answer was on its way; its own loss is noticed.
            return answer.result(2 * HEARTBEAT_SECONDS + self._limits.patient_silence)
        except ClusterTimeoutError as error:
            when = f"within {timeout:g} s" if is_late else "before one left the program"
            raise ClusterTimeoutError(
                f"{shown(name)} was not reached by all tasks {when}. {error}", tasks=error.tasks
            ) from None

    @property
    def heartbeats(self) -> list[Heartbeat]:
        """The last that is known of every task, in order; nothing before the first have come."""
        return self._heartbeats

    @property
    def step_limit(self) -> float:
        """How long a step may take while another task stands still, in seconds."""
        return self._limits.step

    def send(self, header: dict[str, Any]) -> None:
        """Send a message that has no answer; callable from every thread, and from a signal's handler."""
        # The one way into the loop that is also allowed in a signal's handler.
        self._loop.call_soon_threadsafe(self._write, encode(header))

    def report_own_failure(self, message: str, traceback: str, timeout: float) -> None:
        """Notify the others that this task fails, and wait until they have been.

        Args:
            message: What happened, in a few words.
            traceback: The traceback, which the others show.
            timeout: The longest wait, in seconds.
        """
        self.send({"t": "fail", "message": message, "traceback": traceback, **progress.heartbeat()})
        # The coordinator answers with the failure that counts: this one, or one that came before it.
        self.failed.wait(timeout)

    async def close(self) -> None:
        """Close the connection without a farewell."""
        for task in list(self._work):
            task.cancel()
        await asyncio.gather(*self._work, return_exceptions=True)
        if self._channel is not None:
            self._channel.close()

    async def _reach_coordinator(self, deadline: float, kind: bytes) -> Channel:
        """Connect again and again until the deadline: the other task may not have started, its name not be known."""
        host, port = self._membership.coordinator_address
        pause, reported, unanswered = _FIRST_PAUSE, time.monotonic(), 0
        self._greeted = self._joined
        while True:
            try:
                # Never 0, for which `wait_for` would not try at all.
                remaining = max(deadline - time.monotonic(), 0.01)
                opening = open_channel(host, port, self._membership.credentials.key, kind)
                return await asyncio.wait_for(opening, remaining)
            except (OSError, TimeoutError) as error:
                # In a row only: a coordinator that is starting or ending may close a connection or two.
                unanswered = unanswered + 1 if isinstance(error, UnansweredError) else 0
                if unanswered == _MOST_UNANSWERED:
                    raise self._make_unanswered_error() from None
                if time.monotonic() + pause > deadline:
                    raise self._incomplete(error) from error
                if time.monotonic() - reported > _REPORT_SECONDS:
                    reported = time.monotonic()
                    _logger.warning("%s", self._waiting_text(error))
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _make_unanswered_error(self) -> ClusterError:
        tasks, source = self._membership, self._membership.credentials.source
        return ClusterError(
            f"{tasks.names[0]} at {tasks.addresses[0]} closes the connections of {tasks.name} without an answer, as "
            f"it does where the two have different secrets, or one of them has none; where none has, TF_CONFIG's "
            f"cluster or {JOB_ID_VARIABLE} differs. Give all tasks the same {SECRET_VARIABLE} (or "
            f"{SECRET_FILE_VARIABLE}) and cluster, and end what is left of an earlier start. Received: "
            f"{f'the secret of {source}' if source else 'no secret'}."
        )

    def _waiting_text(self, error: BaseException | None = None) -> str:
        total = len(self._membership.names)
        reason = f" {self._membership.addresses[0]} can't be reached yet ({error})." if error else ""
        gave_up = f" Came but gave up: {', '.join(self._gave_up)}." if self._gave_up else ""
        joined = f"{total - len(self._missing)} of {total} tasks joined"
        missing = ", ".join(self._absent()) or "none else"
        return f"{joined}; missing: {missing}.{gave_up}{reason}{self._strangers_text()}"

    def _strangers_text(self) -> str:
        count, host = self._turned_away
        if not count:
            return ""
        return (
            f" Turned away: {count} times who does not know this cluster's secret, the last from {host}. If that is a "
            "task's host, its secret or its TF_CONFIG is another."
        )

    def _absent(self) -> tuple[str, ...]:
        """Return the tasks that never came."""
        return tuple(name for name in self._missing if name not in self._gave_up)

    def _incomplete(self, error: BaseException | None = None) -> ClusterTimeoutError:
        return ClusterTimeoutError(
            f"The cluster was not complete in time: {self._waiting_text(error)} Start these tasks, or give them more "
            f"time with timeout=. Received: cluster={shown(self._membership.cluster.as_dict())}.",
            tasks=self._absent() or self._missing,
        )

    async def _listen(self, channel: Channel) -> None:
        try:
            while True:
                # Every byte counts as a sign of life, not only whole messages.
                header, payload = await channel.read(self._hear)
                self._handle(header, payload)
        # The system closes a process's connections when it dies, however it dies.
        except (asyncio.IncompleteReadError, OSError):
            self._handle_coordinator_gone("died: its process ended or its connection was closed")

    def _hear(self) -> None:
        self._greeted = True
        self._heard = time.monotonic()

    def _handle(self, header: dict[str, Any], payload: bytes) -> None:
        kind = header.get("t")
        if kind == "heartbeats":
            # Everybody's, so that each task can judge how long the coordinator may be silent.
            self._heartbeats = [Heartbeat(**values) for values in header["heartbeats"]]
        elif kind == "gathered":
            self._settle(header["id"], header["sizes"], payload)
        elif kind == "missing":
            self._time_out(header["id"], tuple(header["tasks"]))
        elif kind == "waiting":
            self._missing, self._gave_up = tuple(header["missing"]), tuple(header["gave_up"])
            self._turned_away = (header["turned_away"], header["from"])
            if header.get("remind"):
                _logger.warning("%s", self._waiting_text())
        elif kind == "complete" and not self._complete.done():
            self._joined = True
            self._complete.set_result(header["token"])
        elif kind == "refused" and not self._complete.done():
            self._complete.set_exception(ClusterError(_describe_refusal(header["message"], self._membership)))
        elif kind == "limit":
            self._limits = dataclasses.replace(self._limits, step=float(header["step"]))
        elif kind == "stop":
            self._write(encode(self.stops.note_asked(header["name"], header["reason"])))
        elif kind == "stop_at":
            self.stops.settle(header["name"], header["step"])
        elif kind == "failure":
            self._fail(header["kind"], tuple(header["tasks"]), header["message"], header["traceback"])
        elif kind == "farewell":
            self.farewell.set()

    def _settle(self, number: int, sizes: list[int], payload: bytes) -> None:
        # None: it was withdrawn, or a failure has ended it.
        answer = self._requests.pop(number, None)
        if answer is not None:
            ends = list(itertools.accumulate(sizes))
            answer.set_result([payload[end - size : end] for size, end in zip(sizes, ends, strict=True)])

    def _time_out(self, number: int, tasks: tuple[str, ...]) -> None:
        answer = self._requests.pop(number, None)
        if answer is not None:
            answer.set_exception(
                ClusterTimeoutError(
                    f"Missing: {', '.join(tasks)}. This task is {self._membership.name}.", tasks=tasks
                )
            )

    def _ask(self, number: int, answer: concurrent.futures.Future[list[bytes]], frame: Frame) -> None:
        # Asked on the loop, where failures are noted: a request can't slip in behind one and wait for good.
        error = self.failure or self.ended
        if error is not None:
            answer.set_exception(error)
            return
        self._requests[number] = answer
        self._write(frame)

    def _write(self, frame: Frame) -> None:
        if self._channel is not None:
            self._channel.write(frame)

    async def _send_heartbeats(self) -> None:
        before = time.monotonic()
        while self.failure is None:
            self._write(encode({"t": "heartbeat", **progress.heartbeat()}))
            await asyncio.sleep(HEARTBEAT_SECONDS)
            now = time.monotonic()
            if now - before > _LATE_HEARTBEATS * HEARTBEAT_SECONDS:
                # This process could not run: the coordinator's messages have yet to be read.
                # The clock of the silence stands still for as long as this process did.
                self._heard += now - before
            before = now
            if now - self._heard > self._longest_silence_of_coordinator():
                self._handle_coordinator_gone(
                    f"sent no heartbeat for {now - self._heard:.0f} s: its process is stopped or its host can't be "
                    "reached"
                )

    def _longest_silence_of_coordinator(self) -> float:
        # The coordinator may have fallen silent before it could pass on that this task waits in a step by now.
        own = Heartbeat(phase=progress.phase)
        return longest_silence(0, [*(self._heartbeats or [Heartbeat()]), own], self._limits)

    def _handle_coordinator_gone(self, reason: str) -> None:
        """Handle the loss of process 0, which the coordinator lives in, or that it has left."""
        # Before the cluster is complete a loss is nothing that trains: the attempt failed, and is made again.
        if not self._joined:
            if self._greeted and not self._complete.done():
                self._missing = tuple(dict.fromkeys([*self._missing, self._membership.names[0]]))
                self._gave_up = (*self._gave_up, self._membership.names[0])
            if not self._complete.done():
                self._complete.set_exception(ConnectionError(reason))
            return
        # Process 0 may leave like every task, and the coordinator with it.
        last = self._heartbeats[0] if self._heartbeats else Heartbeat()
        # Lost, unless it had said goodbye: then only those who still need it get an error.
        if last.left is None and not self.farewell.is_set():
            self._fail("died", (0,), f"{self._membership.names[0]} {reason} ({last.describe()})", "")
        elif last.left is not None:
            self.ended = PeerLostError(
                f"{self._membership.names[0]} has left the program. {self._own_state()}",
                tasks=self._membership.names[:1],
            )
            self._end_requests(self.ended)
            self.farewell.set()

    def _fail(self, kind: str, tasks: tuple[int, ...], message: str, traceback: str) -> None:
        # The first failure counts; what follows mostly comes from it.
        if self.failure is not None:
            return
        if not self._joined:
            if not self._complete.done():
                self._complete.set_exception(ClusterError(_describe_refusal(message, self._membership)))
            return
        names = tuple(self._membership.names[index] for index in tasks)
        self.failure_kind, self.failed_tasks = kind, tasks
        shown = (
            f"\nIts traceback:\n{traceback.rstrip()}"
            # The task that raised has shown its own traceback.
            if traceback and self._membership.index not in tasks
            else ""
        )
        self.failure = PeerLostError(f"{message}. {self._own_state()}{shown}", tasks=names)
        # After `failure` is set: whoever waits for this event reads it next.
        self.failed.set()
        self._end_requests(self.failure)
        self._on_failure(self)

    def _own_state(self) -> str:
        step = "before its first step" if progress.last_step is None else f"in step {progress.last_step}"
        name = self._membership.name
        return f"This task, {name}, was {step}; all tasks have to start again from the last checkpoint."

    def _end_requests(self, error: PeerLostError) -> None:
        # Emptied first: an answer's callbacks may ask for more.
        requests, self._requests = self._requests, {}
        for answer in requests.values():
            answer.set_exception(error)
        self.stops.fail(error)

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Carry JAX' traffic. Where process 0 is gone, JAX is left waiting: it would end this process otherwise."""
        with contextlib.suppress(ClusterError, ClusterTimeoutError, OSError):
            channel = await self._reach_coordinator(time.monotonic() + self._limits.patient_silence, JAX)
            channel.write(encode({"token": self._token}))
            await carry(channel, reader, writer)
            channel.close()
        # Closing it would tell JAX's client that the service is gone, and the client ends the process then.
        self._held.append(writer)

    def _keep(self, work: Any) -> asyncio.Task:
        """Run work on the loop and keep a reference, without which the loop could drop it."""
        task = asyncio.ensure_future(work)
        self._work.add(task)
        task.add_done_callback(self._work.discard)
        return task


def _wait_settled(answer: concurrent.futures.Future, timeout: float, stop: threading.Event | None) -> bool:
    """Wait for an answer, until the time is over or the wait is no longer wanted; say whether it is there."""
    deadline = time.monotonic() + timeout
    # `concurrent.futures` can't wait for an event as well, so this looks at it now and then.
    while stop is not None and not stop.is_set() and time.monotonic() + _STOP_SECONDS < deadline:
        if concurrent.futures.wait([answer], _STOP_SECONDS).done:
            return True
    remaining = 0 if stop is not None and stop.is_set() else max(deadline - time.monotonic(), 0)
    return bool(concurrent.futures.wait([answer], remaining).done)


def _describe_refusal(message: str, membership: Membership) -> str:
    return f"{message}. Received: this task is {membership.name} of {shown(membership.cluster.as_dict())}."
