"""`Connection`: a task's stream to one parameter server, which outlives the connections that carry it."""

import contextlib
import hmac
import json
import logging
import math
import secrets
import time
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from stratax.base.shown import shown
from stratax.cluster.phases import START_VARIABLE, start_seconds
from stratax.errors import (
    AbortedError,
    ClusterTimeoutError,
    PeerLostError,
    StrataxError,
    UnauthenticatedError,
)
from stratax.parameter_servers.servers import _certificates, _protocol, _wire
from stratax.parameter_servers.servers._arrow import flight, pa
from stratax.parameter_servers.servers._deadlines import Deadlines
from stratax.parameter_servers.servers._server import MOST_MESSAGE_BYTES

# How long one answer may take where nothing else is said, in seconds.
DEFAULT_SECONDS = 300.0

# For how long one is tried again that is there and refuses to talk, in seconds: the job before may be ending.
_REFUSED_SECONDS = 60.0

# The same for one that has answered before: what it kept is gone if it was started anew.
LOST_SECONDS = 8.0

# How often it is told who is waited for, in seconds.
_TELL_SECONDS = 10.0

# How long a server that has accepted a connection may take for its challenge, in seconds.
_CHALLENGE_SECONDS = 20.0

# What says that a stream is broken. Where the server has ended it in good order while this task wrote, Flight raises an
# OSError, and an ArrowException for what is written then.
_BROKEN = (flight.FlightError, pa.ArrowException, OSError, StopIteration)

_PAUSE_SECONDS = 0.05
_LONGEST_PAUSE_SECONDS = 1.0

_logger = logging.getLogger("stratax")
_connections: "weakref.WeakSet[Connection]" = weakref.WeakSet()


class Connection:
    """Sends messages to a server, one after another, and gets its answers.

    A connection that breaks is made anew and the message sent again; the server does it once. `begin` and `finish` let
    a task ask several servers before it waits for the first. One thread uses a connection at a time.

    Args:
        name: The server's name, for messages, such as ``"/job:ps/task:0"``.
        address: Where it listens, ``"host:port"``.
        certificates: What this task shows, and asks of the server.
        deadlines: What ends waits that take too long; one for all connections of a task.
        task: What tells this start of this task from all others.
        stream: Which of the task's streams to the server this is.
        timeout: How long an answer may take, in seconds.
        patience: For how long a server that has not been there yet is tried again, in seconds; None for as long as
            tasks are waited for at the start.
    """

    def __init__(
        self,
        name: str,
        address: str,
        certificates: _certificates.Certificates,
        deadlines: Deadlines,
        *,
        task: str,
        stream: int = 0,
        timeout: float = DEFAULT_SECONDS,
        patience: float | None = None,
    ) -> None:
        self.name = name
        self._address = address
        self._certificates = certificates
        self._deadlines = deadlines
        self._greeting = {"protocol": _protocol.PROTOCOL, "task": task, "stream": stream}
        self._timeout = timeout
        self._patience = start_seconds() if patience is None else patience
        self._told = 0.0
        self._is_aborted = False
        self._client: flight.FlightClient | None = None
        self._writer: Any = None
        self._reader: Any = None
        self._incarnation: str | None = None
        self._number = 0
        # What has been sent and not been answered yet.
        self._open: tuple[dict[str, Any], Sequence[np.ndarray]] | None = None
        _connections.add(self)

    @property
    def has_answered(self) -> bool:
        """Whether the server has been reached, at least once."""
        return self._incarnation is not None

    def ask(self, header: dict[str, Any], arrays: Sequence[np.ndarray] = ()) -> _wire.Message:
        """Send a message and wait for the answer.

        Args:
            header: What to do.
            arrays: With what.

        Raises:
            PeerLostError: The server does not answer any more, or was started anew.
            ClusterTimeoutError: It does not answer in time.
            StrataxError: It can't do what it was asked.
        """
        self.begin(header, arrays)
        return self.finish()

    def begin(self, header: dict[str, Any], arrays: Sequence[np.ndarray] = ()) -> None:
        """Send a message, whose answer `finish` waits for.

        Args:
            header: What to do.
            arrays: With what. They stay as they are until `finish` has returned: they may be sent again.
        """
        if header["op"] not in ("pull", "streams"):
            self._number += 1
            header = {**header, "number": self._number}
        self._open = (header, arrays)
        # What can't be sent now is sent again by `finish`.
        with contextlib.suppress(*_BROKEN):
            if self._writer is not None:
                _wire.send(self._writer, header, arrays)
                return
        self._drop()

    def finish(self) -> _wire.Message:
        """Wait for the answer to the message of `begin`.

        Raises:
            PeerLostError: The server does not answer any more, or was started anew.
            ClusterTimeoutError: It does not answer in time.
            StrataxError: It can't do what it was asked.
        """
        if self._open is None:
            raise AbortedError(
                "There is no message that an answer could come to. Expected: begin() before finish()."
            )
        message = self._open
        began = started = time.monotonic()
        pause = _PAUSE_SECONDS
        while True:
            # The time for an answer begins when there is somebody who could give it.
            started = started if self.has_answered else time.monotonic()
            try:
                answer = self._answer(message, started)
                break
            except StrataxError:
                raise
            except _BROKEN as error:
                self._drop()
                self._give_up_in_time(began, started, error)
                time.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)
        self._open = None
        _protocol.raise_error(answer.header, self.name)
        return answer

    def close(self) -> None:
        """End the stream and the connection."""
        self._drop()

    def abort(self) -> None:
        """Have whoever waits for an answer fail; may be called from another thread."""
        self._is_aborted = True
        self._cancel()

    def _answer(self, message: tuple[dict[str, Any], Sequence[np.ndarray]], started: float) -> _wire.Message:
        with self._deadlines.within(started + self._timeout, self._cancel):
            if self._writer is None:
                self._connect()
                _wire.send(self._writer, *message)
            return _wire.receive(self._reader, MOST_MESSAGE_BYTES)

    def _connect(self) -> None:
        certificates = self._certificates
        self._client = flight.FlightClient(
            f"grpc+tls://{self._address}",
            tls_root_certs=certificates.authority,
            cert_chain=certificates.own,
            private_key=certificates.private_key,
            **({} if certificates.name is None else {"override_hostname": certificates.name}),
        )
        greeting = self._greeting if certificates.proof_key is None else self._proving(self._client)
        descriptor = flight.FlightDescriptor.for_command(json.dumps(greeting).encode())
        writer, reader = self._client.do_exchange(descriptor)
        self._writer, self._reader = writer, reader
        # A server that does not want the stream has said why, and may have ended it already.
        with contextlib.suppress(*_BROKEN):
            writer.begin(_wire.SCHEMA)
        header = _wire.receive(reader, 0).header
        _protocol.raise_error(header, self.name)
        if certificates.proof_key is not None:
            self._check_proof(greeting, header)
        if self._incarnation not in (None, header["incarnation"]):
            raise PeerLostError(
                f"Task {self.name} was started anew: what it kept, variables for instance, is gone. Start the job "
                "again from its last checkpoint; `stratax launch --restarts` does so."
            )
        self._incarnation = header["incarnation"]

    def _proving(self, client: flight.FlightClient) -> dict[str, Any]:
        """Return a greeting that proves to the server that this task knows the cluster's key."""
        options = flight.FlightCallOptions(timeout=min(self._timeout, _CHALLENGE_SECONDS))
        (result,) = client.do_action(flight.Action(_protocol.CHALLENGE, b""), options)
        challenge, nonce = result.body.to_pybytes().decode("ascii", "replace"), secrets.token_hex(32)
        proof = self._certificates.proof("the task", challenge, nonce)
        return {**self._greeting, "challenge": challenge, "nonce": nonce, "proof": proof}

    def _check_proof(self, greeting: dict[str, Any], header: dict[str, Any]) -> None:
        expected = self._certificates.proof("the server", greeting["challenge"], greeting["nonce"])
        if not hmac.compare_digest(str(header.get("proof")).encode(errors="replace"), expected.encode()):
            raise UnauthenticatedError(
                f"{self.name} at {self._address} does not know the cluster's secret. Expected: the same secret and "
                "cluster in all tasks, and certificates of your own in all or in none."
            )

    def _cancel(self) -> None:
        reader = self._reader
        if reader is not None:
            # The stream may just be ending.
            with contextlib.suppress(flight.FlightError, pa.ArrowException):
                reader.cancel()

    def _drop(self) -> None:
        writer, client = self._writer, self._client
        self._writer = self._reader = self._client = None
        # A broken stream can't be ended in good order.
        with contextlib.suppress(*_BROKEN):
            if writer is not None:
                writer.close()
        with contextlib.suppress(flight.FlightError):
            if client is not None:
                client.close()

    def _give_up_in_time(self, began: float, started: float, error: BaseException) -> None:
        now = time.monotonic()
        if now - started >= self._timeout:
            raise ClusterTimeoutError(
                f"Task {self.name} at {self._address} did not answer within {self._timeout:g} s. See its "
                "output; it may be overloaded, or stand still."
            ) from error
        reason = str(error).partition("\n")[0]
        if self.has_answered:
            patience = min(self._patience, self._timeout, LOST_SECONDS)
        else:
            # Whoever refuses to talk is there: it is another one, or has another secret.
            patience = min(self._patience, _REFUSED_SECONDS if "handshake" in reason else math.inf)
        if self._is_aborted or now - began >= patience:
            raise PeerLostError(
                f"Task {self.name} at {self._address} can't be reached since {now - began:.0f} s. Expected: "
                f"that it runs, and has the secret of this cluster. Received: {shown(reason)}. See its output, or give "
                f"it more time with {START_VARIABLE}."
            ) from error
        if now - max(began, self._told) >= _TELL_SECONDS:
            self._told = now
            _logger.warning(
                "Task %s at %s can't be reached since %.0f s; it is waited for up to %g s (%s). %s",
                self.name,
                self._address,
                now - began,
                patience,
                START_VARIABLE,
                shown(reason),
            )


def abort_all() -> None:
    """Abort all connections of this process, which comes to its end."""
    for connection in list(_connections):
        connection.abort()
