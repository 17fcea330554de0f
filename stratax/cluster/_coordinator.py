"""The coordinator of a cluster: where its tasks meet, in process 0 (cluster layer).

Every task keeps one connection to the coordinator. When a process dies, the system closes its connection, which is how
the others learn of it at once; when it stands still, its heartbeats stop or show no progress. The coordinator also
gathers values from all tasks and carries JAX' traffic. It listens at its TF_CONFIG address and nowhere else, and says
nothing to who does not know the cluster's key: see `_door`.
"""

import asyncio
import contextlib
import dataclasses
import hmac
import logging
import socket
import time
from typing import Any

from stratax.base.shown import shown
from stratax.cluster._channel import Channel
from stratax.cluster._door import Door
from stratax.cluster._frames import encode, sha256
from stratax.cluster._handshake import JAX
from stratax.cluster._membership import Membership, difference
from stratax.cluster._relay import carry
from stratax.cluster._stops import StopsOfAll
from stratax.cluster._watchdog import Heartbeat, Limits, judge, reason_of_leaving

# How long a task may take to introduce itself after the handshake.
_INTRODUCTION_SECONDS = 10.0
# In bytes: it names every address of the cluster.
_LONGEST_INTRODUCTION = 4 * 1024 * 1024
# How often the tasks are judged; half the time between two heartbeats of a task.
TICK_SECONDS = 0.25
# By so many ticks this process is late if it was the one that could not run.
_LATE_TICKS = 4
# How often those who have come are reminded of who has not.
_WAITING_SECONDS = 10.0
_SERVICE_SECONDS = 60.0
_SERVICE_PAUSE = 0.02
_logger = logging.getLogger("stratax")


@dataclasses.dataclass(kw_only=True, slots=True)
class _Member:
    """A task that has joined."""

    channel: Channel
    heartbeat: Heartbeat = dataclasses.field(default_factory=Heartbeat)
    heard: float = dataclasses.field(default_factory=time.monotonic)
    left_at: float | None = None

    def describe(self) -> str:
        return self.current_heartbeat(time.monotonic()).describe()

    def hear(self) -> None:
        self.heard = time.monotonic()

    def current_heartbeat(self, now: float) -> Heartbeat:
        left = None if self.left_at is None else now - self.left_at
        return dataclasses.replace(self.heartbeat, silence=now - self.heard, left=left)


class Coordinator:
    """The coordinator. All of it runs on one event loop.

    Args:
        membership: The tasks.
        limits: The deadlines that all tasks are held to.
        token: What a connection for JAX' traffic has to show; only tasks that have joined are sent it.
        jax_socket: The path of the local socket of JAX' service.
    """

    def __init__(self, membership: Membership, limits: Limits, token: str, jax_socket: str) -> None:
        self._membership = membership
        self._limits = limits
        self._token = token
        self._jax_socket = jax_socket
        self._members: dict[int, _Member] = {}
        # By name: each task's request, whether it wants all values, and its own value.
        self._gathers: dict[str, dict[int, tuple[int, bool, bytes]]] = {}
        self._tasks: set[asyncio.Task] = set()
        self._gave_up: set[str] = set()
        self._complete = False
        self._failure: dict[str, Any] | None = None
        self._stops = StopsOfAll(len(membership.names))
        self._door = Door(membership.credentials.key, self._welcome)

    async def start(self, host: str, port: int) -> None:
        """Begin to listen.

        Args:
            host: The host of the address, and the only one that is listened on.
            port: Its port.

        Raises:
            OSError: If the address is taken, or is not one of this machine.
        """
        # The given address only: listening on all interfaces would invite strangers.
        family, address = await _own_address(host, port)
        listener = socket.socket(family, socket.SOCK_STREAM)
        try:
            # A port whose last connections are only fading away is free; one that another program listens on is not.
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            self._door.open(listener)
        except BaseException:
            listener.close()
            raise
        for work in (self._watch(), self._remind()):
            self._keep(asyncio.ensure_future(work))

    async def _welcome(self, kind: bytes, channel: Channel) -> None:
        """Take a connection whose other end knows the cluster's key."""
        # Who knows the key and then says nothing must not hold a descriptor for good.
        async with asyncio.timeout(_INTRODUCTION_SECONDS):
            introduction, _ = await channel.read(longest=_LONGEST_INTRODUCTION)
        if kind == JAX:
            await self._carry(introduction, channel)
            return
        refusal = self._refusal(introduction)
        if refusal:
            channel.write(encode({"t": "refused", "message": refusal}))
            await channel.drain()
        else:
            await self._session(introduction["index"], channel)

    async def _carry(self, introduction: dict[str, Any], channel: Channel) -> None:
        # Without a secret this is what keeps those from JAX who know the cluster, and came when it was complete.
        # In constant time: how long a comparison takes must not show how much was right.
        if hmac.compare_digest(str(introduction.get("token")).encode(), self._token.encode()):
            reader, writer = await self._reach_service()
            try:
                await carry(channel, reader, writer)
            finally:
                writer.close()

    async def _reach_service(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Connect to JAX' service, which starts at about the same time as its clients."""
        # The service starts in this very process once all tasks have joined, so it is waited for, not
        # configured.
        for _ in range(int(_SERVICE_SECONDS / _SERVICE_PAUSE)):
            with contextlib.suppress(ConnectionRefusedError, FileNotFoundError):
                return await asyncio.open_unix_connection(self._jax_socket)
            await asyncio.sleep(_SERVICE_PAUSE)
        raise ConnectionError("JAX' service did not start")

    def _refusal(self, hello: dict[str, Any]) -> str:
        """Return why a task can't join; empty if it can."""
        index, name = hello.get("index"), hello.get("name")
        # Before the rest, as it explains a difference that left-over tasks have elsewhere, too.
        if hello.get("job") != self._membership.job_id:
            return (
                f"{name} belongs to another start of the job: it is left over, or two jobs have the same address. "
                f"Its job is {shown(hello.get('job'))}, that of {self._membership.names[0]} is "
                f"{shown(self._membership.job_id)}"
            )
        if hello.get("fingerprint") != self._membership.cluster.fingerprint():
            return self._different(hello)
        if not isinstance(index, int) or not 0 <= index < len(self._membership.names):
            return f"{name} has an impossible number, {shown(index)}"
        return _describe_second_join(name) if self._complete and index in self._members else ""

    def _different(self, hello: dict[str, Any]) -> str:
        field = difference(self._membership.cluster.as_dict(), hello.get("cluster"))
        name = hello.get("name")
        message = f"{self._membership.names[0]} and {name} were given different clusters: {field}"
        if not self._complete and name in self._missing():
            # The task that is waited for came, and can't be taken: nobody has to wait for the deadline.
            self._fail("config", (), message)
        return message

    async def _session(self, index: int, channel: Channel) -> None:
        member = _Member(channel=channel)
        # The newest connection of a task counts: its process may have been started again.
        self._replace(self._members.get(index), self._membership.names[index])
        self._members[index] = member
        self._announce()
        try:
            while True:
                header, payload = await channel.read(member.hear)
                self._handle(index, member, header, payload)
                await channel.drain()
        # A malformed message ends the connection like a lost one: its sender is broken.
        except (asyncio.IncompleteReadError, OSError, KeyError, TypeError, ValueError) as error:
            _logger.debug("The connection of %s ended: %r.", self._membership.names[index], error)
            self._handle_gone(index, member)

    def _replace(self, older: _Member | None, name: str) -> None:
        """Drop an earlier connection of a task that joins: what a host left behind that was lost, or a second process.

        Once the cluster is complete nobody takes a task's place.
        """
        if older is not None:
            older.channel.write(encode({"t": "refused", "message": _describe_second_join(name)}))
            older.channel.close()

    def _handle_gone(self, index: int, member: _Member) -> None:
        """Handle a closed connection, which is what the system does when its process ends."""
        # A newer connection of the task has taken this one's place.
        if self._members.get(index) is not member:
            return
        if not self._complete:
            del self._members[index]
            self._gave_up.add(self._membership.names[index])
            self._announce()
        # A task that said goodbye may close its connection.
        elif member.left_at is None:
            reason = "died: its process ended or its connection was closed"
            self._fail("died", (index,), f"{self._membership.names[index]} {reason} ({member.describe()})")

    def _handle(self, index: int, member: _Member, header: dict[str, Any], payload: bytes) -> None:
        kind = header.get("t")
        # Heartbeats are part of several messages: a last word says what the task was doing.
        if "phase" in header:
            member.heartbeat = _heartbeat(header)
        if kind == "gather":
            self._gather(index, header, payload)
        elif kind == "withdraw":
            self._withdraw(index, header)
        elif kind == "stop":
            self._request_stop(str(header["name"]), str(header["reason"]))
        elif kind == "begun":
            self._settle_stop(str(header["name"]), index, int(header["step"]))
        elif kind == "fail":
            reason = f"{self._membership.names[index]} {header['message']} ({member.describe()})"
            self._fail("raised", (index,), reason, str(header.get("traceback", "")))
        elif kind == "limit":
            self._limits = dataclasses.replace(self._limits, step=float(header["step"]))
            self._broadcast({"t": "limit", "step": self._limits.step})
        elif kind == "bye":
            self._leave(member)

    def _gather(self, index: int, header: dict[str, Any], payload: bytes) -> None:
        values = self._gathers.setdefault(header["name"], {})
        values[index] = (header["id"], bool(header["all"]), payload)
        # A task that has left will not send its value any more, so the others' wait would not end.
        left = tuple(
            i for i, member in self._members.items() if member.left_at is not None and i not in values
        )
        if left and header.get("ahead"):
            # Nobody is known to need the value: the task may leave, too, before it does.
            self._withdraw(index, header)
        # The wait can't end any more, so all are told now instead of at the deadline.
        elif left:
            reason = reason_of_leaving(self._members[left[0]].heartbeat, "waiting for it")
            self._fail("left", left, f"{self._names(left)} {reason}")
        elif len(values) == len(self._membership.names):
            del self._gathers[header["name"]]
            self._answer(values)

    def _answer(self, values: dict[int, tuple[int, bool, bytes]]) -> None:
        parts = [values[index][2] for index in range(len(values))]
        sizes, joined = [len(part) for part in parts], b"".join(parts)
        # Once for all tasks: a payload may be large, and its hash is part of every message.
        hashes = {True: sha256(joined), False: sha256(parts[0])}
        for index, (request, everything, _) in values.items():
            shown, content = (sizes, joined) if everything else (sizes[:1], parts[0])
            header = {"t": "gathered", "id": request, "sizes": shown}
            self._members[index].channel.write(encode(header, content, hashes[everything]))

    def _withdraw(self, index: int, header: dict[str, Any]) -> None:
        values = self._gathers.get(header["name"], {})
        missing = [name for i, name in enumerate(self._membership.names) if i not in values]
        # Else the answer is on its way already.
        # Withdrawn before all had come: nobody else gets this task's value.
        if values.pop(index, None) is not None:
            if not values:
                del self._gathers[header["name"]]
            self._send(index, {"t": "missing", "id": header["id"], "tasks": missing})

    def _request_stop(self, name: str, reason: str) -> None:
        if self._stops.ask(name):
            self._broadcast({"t": "stop", "name": name, "reason": reason})

    def _settle_stop(self, name: str, index: int, step: int) -> None:
        first = self._stops.answer(name, index, step)
        if first is not None:
            self._broadcast({"t": "stop_at", "name": name, "step": first})

    def _leave(self, member: _Member) -> None:
        member.left_at = time.monotonic()
        # Nobody may close before: process 0 carries the others' connections.
        if all(other.left_at is not None for other in self._members.values()):
            self._broadcast({"t": "farewell"})

    def _fail(self, kind: str, tasks: tuple[int, ...], message: str, traceback: str = "") -> None:
        """Notify all tasks of the first failure; those that follow from it are not sent."""
        if self._failure is None:
            self._failure = {"t": "failure", "kind": kind, "tasks": list(tasks), "message": message}
            self._failure["traceback"] = traceback
            self._broadcast(self._failure)

    def _announce(self) -> None:
        """Tell those who have joined who is missing; the last one makes the cluster complete."""
        missing = self._missing()
        # Also to those who are complete by this one: they show who came.
        self._broadcast(self._waiting())
        if not missing and not self._complete:
            self._complete = True
            now = time.monotonic()
            for member in self._members.values():
                # Tasks send no heartbeats before the cluster is complete.
                member.heard = now
            self._broadcast({"t": "complete", "token": self._token})

    def _waiting(self) -> dict[str, Any]:
        missing = self._missing()
        return {
            "t": "waiting",
            "missing": missing,
            "gave_up": [name for name in missing if name in self._gave_up],
            "turned_away": self._door.turned_away,
            "from": self._door.last_turned_away,
        }

    def _missing(self) -> list[str]:
        return [name for index, name in enumerate(self._membership.names) if index not in self._members]

    async def _remind(self) -> None:
        while not self._complete and self._failure is None:
            await asyncio.sleep(_WAITING_SECONDS)
            if not self._complete:
                self._broadcast({**self._waiting(), "remind": True})

    async def _watch(self) -> None:
        """Judge by the heartbeats, and pass them on."""
        before = time.monotonic()
        # After a failure the tasks end; judging them once more would only add noise.
        while self._failure is None:
            await asyncio.sleep(TICK_SECONDS)
            now = time.monotonic()
            if now - before > _LATE_TICKS * TICK_SECONDS:
                # It was this process that could not run: what the others sent meanwhile has yet to be read.
                for member in self._members.values():
                    member.heard += now - before
            before = now
            if self._complete:
                self._inspect(now)

    def _inspect(self, now: float) -> None:
        # In the order of the tasks: verdicts name them by number.
        members = [self._members[index] for index in range(len(self._membership.names))]
        heartbeats = [member.current_heartbeat(now) for member in members]
        verdict = judge(heartbeats, self._limits)
        if verdict is not None:
            self._fail(verdict.kind, verdict.tasks, f"{self._names(verdict.tasks)} {verdict.reason}")
        else:
            self._broadcast(
                {"t": "heartbeats", "heartbeats": [dataclasses.asdict(heartbeat) for heartbeat in heartbeats]}
            )

    def _names(self, tasks: tuple[int, ...]) -> str:
        return " and ".join(self._membership.names[index] for index in tasks)

    def _broadcast(self, header: dict[str, Any]) -> None:
        # Encoded and hashed once, and sealed for each connection.
        frame = encode(header)
        for member in self._members.values():
            member.channel.write(frame)

    def _send(self, index: int, header: dict[str, Any]) -> None:
        self._members[index].channel.write(encode(header))

    def _keep(self, task: asyncio.Task) -> None:
        """Keep a reference, without which the loop could drop the task."""
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """Stop listening and drop all connections."""
        await self._door.close()
        for task in list(self._tasks):
            task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.gather(*self._tasks, return_exceptions=True)


def _describe_second_join(name: object) -> str:
    return f"{name} has joined already: two processes were started as the same task, or two jobs have the same cluster"


def _heartbeat(header: dict[str, Any]) -> Heartbeat:
    age, step, last = float(header["age"]), header["step"], header["last"]
    return Heartbeat(
        phase=str(header["phase"]), step=step, last_step=last, age=age, waits_for=header.get("waits_for")
    )


async def _own_address(host: str, port: int) -> tuple[int, Any]:
    found = await asyncio.get_running_loop().getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )
    return found[0][0], found[0][4]
