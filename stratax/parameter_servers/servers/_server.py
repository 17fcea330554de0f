"""`ShardServer`: answers tasks that pull arrays and push what changes them, over Arrow Flight."""

import contextlib
import dataclasses
import hmac
import json
import logging
import secrets
import threading
import uuid
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stratax.base.shown import shown
from stratax.base.spare_threads import start_thread
from stratax.errors import (
    AbortedError,
    BadArgumentError,
    ClusterError,
    ResourceExhaustedError,
    StrataxError,
    UnauthenticatedError,
)
from stratax.parameter_servers.servers import _certificates, _protocol, _wire
from stratax.parameter_servers.servers._arrow import flight, pa
from stratax.parameter_servers.servers._gate import Gate
from stratax.parameter_servers.servers._shards import Shards
from stratax.parameter_servers.servers._turns import StepTurns

# How many streams tasks may have open: two for each of a few hundred tasks.
MOST_STREAMS = 1024

# How many bytes the arrays of one message may have.
MOST_MESSAGE_BYTES = 4 << 30

_MOST_GREETING_BYTES = 4096
_MOST_ERROR_TEXT = 2000

# What a server does with a header and arrays, which it may take out of their list: it returns the header of the
# answer, or a whole one.
Answer = Callable[[dict[str, Any], list[np.ndarray]], "dict[str, Any] | _wire.Message"]
_logger = logging.getLogger("stratax")


@dataclasses.dataclass(slots=True, eq=False)
class _Sender:
    """What is remembered of one stream of a task, beyond a broken connection.

    Attributes:
        name: What tells it from all others.
        lock: Held while a message of it is answered: after a broken connection it may come twice at once.
        number: The number of the last message that changed something.
        reply: What was answered.
    """

    name: str
    lock: threading.Lock = dataclasses.field(default_factory=threading.Lock)
    number: int = 0
    reply: _wire.Message = dataclasses.field(default_factory=lambda: _wire.Message({}, []))


class MessageServer(flight.FlightServerBase):
    """Answers the messages that tasks of a cluster send, one after another, over streams of Arrow Flight.

    A task gets an answer to each message. What changes something is numbered: a message that comes again, after a
    broken connection, is answered as before and not done again.

    Args:
        host: The address to listen on.
        port: The port; 0 for a free one, which `port` then tells.
        certificates: What the server shows, and asks of those who connect.
        on_end: Called when a task says that the job is over, with its error; None if it has not failed.

    Raises:
        ClusterError: Nothing can listen there.
    """

    def __init__(
        self,
        host: str,
        port: int,
        certificates: _certificates.Certificates,
        on_end: Callable[[str | None], None] | None = None,
    ) -> None:
        self._on_end = on_end
        self._certificates = certificates
        self._challenge = secrets.token_hex(32)
        # The numbers of streams that have proved that they know the key, each of which is taken once.
        self._nonces: set[str] = set()
        # One start of the server: whoever was told another one knows that what it had is gone.
        self.incarnation = uuid.uuid4().hex
        self._senders: dict[tuple[str, int], _Sender] = {}
        self._lock = threading.Lock()
        self._num_streams = 0
        try:
            super().__init__(
                f"grpc+tls://{host}:{port}",
                tls_certificates=[(certificates.own, certificates.private_key)],
                verify_client=True,
                root_certificates=certificates.authority,
            )
        except (pa.ArrowException, OSError) as error:
            raise ClusterError(
                f"Nothing can listen at {host}:{port} ({str(error).partition(chr(10))[0]}). Expected: an address of "
                "this machine, and a port that is free."
            ) from error

    def answers(self) -> dict[str, Answer]:
        """Return what the server can be asked to do once, by name."""
        return {}

    def write(self, writer: object, header: dict[str, Any], arrays: Sequence[np.ndarray] = ()) -> None:
        """Write an answer."""
        _wire.send(writer, header, arrays)

    def look_up(self, header: dict[str, Any], arrays: Sequence[np.ndarray], writer: object) -> bool:
        """Answer a message that changes nothing; return whether it was one.

        Args:
            header: What is asked.
            arrays: With what.
            writer: The stream to write the answer to.
        """
        return False

    def stream_ended(self, stream: str) -> None:
        """Note that a stream has ended, or broken; the task may open it again."""

    def close(self) -> None:
        """Stop listening. Streams that are open end with their tasks, or with this process."""
        # Flight waits until all streams have ended, and a task may keep one open for as long as it likes.
        start_thread(self.shutdown, "close-server")

    def do_exchange(
        self,
        context: flight.ServerCallContext,
        descriptor: flight.FlightDescriptor,
        reader: flight.MetadataRecordBatchReader,
        writer: flight.MetadataRecordBatchWriter,
    ) -> None:
        """Answer the messages of one stream, until the task ends it."""
        writer.begin(_wire.SCHEMA)
        try:
            sender, proof = self._welcome(descriptor.command)
        except StrataxError as error:
            _wire.send(writer, _protocol.error_header(error))
            return
        with self._lock:
            self._num_streams += 1
            is_full = self._num_streams > MOST_STREAMS
        try:
            if is_full:
                raise ResourceExhaustedError(
                    f"This server has {MOST_STREAMS} streams open. Expected: two for each task. Received: one more. "
                    "Start fewer tasks, or more servers."
                )
            _wire.send(writer, {"protocol": _protocol.PROTOCOL, "incarnation": self.incarnation, **proof})
            self._converse(sender, reader, writer)
        except StrataxError as error:
            _wire.send(writer, _protocol.error_header(error))
        finally:
            self.stream_ended(sender.name)
            with self._lock:
                self._num_streams -= 1

    def do_action(self, context: flight.ServerCallContext, action: flight.Action) -> list[bytes]:
        """Tell the challenge of this start; it is no secret."""
        if action.type != _protocol.CHALLENGE:
            raise flight.FlightServerError("There is no such action.")
        return [self._challenge.encode()]

    def _proof(self, greeting: dict[str, Any]) -> dict[str, str]:
        """Check that a task knows the key, where its certificate does not say so; return the server's own proof."""
        if self._certificates.proof_key is None:
            return {}
        if greeting.get("challenge") != self._challenge:
            # Another start's, to which the task has talked a moment ago: it asks again.
            raise flight.FlightUnavailableError("a greeting without this start's challenge")
        nonce, given = str(greeting.get("nonce")), str(greeting.get("proof"))
        expected = self._certificates.proof("the task", self._challenge, nonce)
        with self._lock:
            is_known = (
                hmac.compare_digest(given.encode(errors="replace"), expected.encode())
                and nonce not in self._nonces
            )
            if is_known:
                self._nonces.add(nonce)
        if not is_known:
            raise UnauthenticatedError(
                "A task does not know the cluster's secret. Expected: the same secret and cluster in all tasks. It was "
                "told nothing, and nothing of it is kept."
            )
        return {"proof": self._certificates.proof("the server", self._challenge, nonce)}

    def _welcome(self, greeting: bytes) -> tuple[_Sender, dict[str, str]]:
        if len(greeting) > _MOST_GREETING_BYTES:
            raise BadArgumentError(f"A greeting is short. Received: {len(greeting)} bytes.")
        try:
            parts = json.loads(greeting)
            protocol, task, stream = parts["protocol"], str(parts["task"]), int(parts["stream"])
        except (ValueError, KeyError, TypeError, RecursionError):
            raise BadArgumentError(
                "A stream begins with the task's name. Received: something else."
            ) from None
        if protocol != _protocol.PROTOCOL:
            raise BadArgumentError(
                f"A task and this server speak different protocols. Expected: {_protocol.PROTOCOL}. Received: "
                f"{shown(protocol)}. Run the same version of Stratax in all tasks."
            )
        # First: of somebody who does not know the key nothing is kept.
        proof = self._proof(parts)
        with self._lock:
            return self._senders.setdefault((task, stream), _Sender(f"{task}/{stream}")), proof

    def _converse(self, sender: _Sender, reader: object, writer: object) -> None:
        while True:
            try:
                message = _wire.receive(reader, MOST_MESSAGE_BYTES)
            except StopIteration:
                return
            except flight.FlightError as error:
                # The task has ended, or the connection has; it comes again if it still lives.
                _logger.debug("A stream to this server has broken: %s.", error)
                return
            try:
                self._answer(sender, message, writer)
            except StrataxError as error:
                _wire.send(writer, _protocol.error_header(error))
            # Its arrays: the next message may come late.
            del message

    def _answer(self, sender: _Sender, message: _wire.Message, writer: object) -> None:
        header = message.header
        if header.get("op") == "end":
            # Told first: whoever waits for the end may leave at once.
            _wire.send(writer, {})
            if self._on_end is not None:
                error = header.get("error")
                self._on_end(None if error is None else str(error)[:_MOST_ERROR_TEXT])
            return
        if header.get("op") == "streams":
            _wire.send(writer, {"streams": self._num_streams})
            return
        # Who asks is not for the task to say.
        header["stream"] = sender.name
        if self.look_up(header, message.arrays, writer):
            return
        if header.get("op") in self.answers():
            _wire.send(writer, *self._do_once(sender, header, message.arrays))
        else:
            raise BadArgumentError(
                f"A server does not know what to do. Received: op={shown(header.get('op'))}."
            )

    def _do_once(self, sender: _Sender, header: dict[str, Any], arrays: list[np.ndarray]) -> _wire.Message:
        number = header["number"]
        with sender.lock:
            if number == sender.number:
                return sender.reply
            if number < sender.number:
                raise AbortedError(
                    f"A message came after one that followed it. Expected: number={sender.number + 1}. Received: "
                    f"number={number}. It was not done."
                )
            try:
                answer = self.answers()[header["op"]](header, arrays)
                sender.reply = answer if isinstance(answer, _wire.Message) else _wire.Message(answer, [])
            except Exception as error:
                # The answer to this message whenever it comes again. Whatever it is: who asked has to be told.
                sender.reply = _wire.Message(_protocol.error_header(error), [])
                if not isinstance(error, StrataxError):
                    _logger.debug("A task was answered with an error.", exc_info=error)
            sender.number = number
            return sender.reply


class ShardServer(MessageServer):
    """Keeps shards of variables and applies updates to them, each exactly once.

    Args:
        host: The address to listen on.
        port: The port; 0 for a free one, which `port` then tells.
        certificates: What the server shows, and asks of those who connect.
        shards: What it keeps; nothing yet by default.
        on_end: Called when a task says that the job is over, with its error; None if it has not failed.

    Raises:
        ClusterError: Nothing can listen there.
    """

    def __init__(
        self,
        host: str,
        port: int,
        certificates: _certificates.Certificates,
        shards: Shards | None = None,
        on_end: Callable[[str | None], None] | None = None,
    ) -> None:
        self.shards = shards or Shards()
        self._gate = Gate()
        self._turns = StepTurns()
        self._answers: dict[str, Answer] = {
            "create": self._create,
            "make": self._make,
            "assign": self._assign,
            "define": self._define,
            "apply": self._apply,
            "hold": self._hold,
            "mark": self._mark,
            "release": self._release,
            "unmark": self._unmark,
            "begin": self._begin,
            "claim": self._claim,
            "finish": self._finish,
            "staleness": self._staleness,
        }
        super().__init__(host, port, certificates, on_end)

    def answers(self) -> dict[str, Answer]:
        return self._answers

    def look_up(self, header: dict[str, Any], arrays: Sequence[np.ndarray], writer: object) -> bool:
        if header.get("op") != "pull":
            return False
        self._turns.note_pull(header["stream"])
        self._pull(header, arrays, writer)
        return True

    def stream_ended(self, stream: str) -> None:
        self._gate.release(stream)
        self._turns.stream_ended(stream)
        for mark in self.shards.marks:
            if mark.startswith(f"{stream} "):
                self.shards.unmark(mark)

    def _pull(self, header: dict[str, Any], arrays: Sequence[np.ndarray], writer: object) -> None:
        names = header.get("rows", [])
        rows = self.shards.rows(names, arrays) if names else []
        with self.shards.reading(header["names"], header["known"], header.get("mark")) as (versions, changed):
            names = list(changed)
            found = [*(changed[name] for name in names), *rows]
            _wire.send(writer, {"versions": versions, "names": names}, found)

    def _create(self, header: dict[str, Any], arrays: Sequence[np.ndarray]) -> dict[str, Any]:
        created = [
            self.shards.create(name, array) for name, array in zip(header["names"], arrays, strict=True)
        ]
        return {"created": created}

    def _make(self, header: dict[str, Any], arrays: Sequence[np.ndarray]) -> dict[str, Any]:
        return {"created": [self.shards.make(header["name"], arrays[0].tobytes())]}

    def _assign(self, header: dict[str, Any], arrays: Sequence[np.ndarray]) -> dict[str, Any]:
        with self._step(header):
            return {"versions": self.shards.assign(header["names"], arrays)}

    def _define(self, header: dict[str, Any], arrays: Sequence[np.ndarray]) -> dict[str, Any]:
        self.shards.define(
            header["update"], arrays[0].tobytes(), header["replaced"], header["read"], header.get("fills", ())
        )
        return {}

    def _apply(self, header: dict[str, Any], arrays: list[np.ndarray]) -> dict[str, Any]:
        # What the step assigns comes behind what the update is sent.
        names = header.get("names", [])
        num_sent = len(arrays) - len(names)
        assigned = dict(zip(names, arrays[num_sent:], strict=True))
        del arrays[num_sent:]
        with self._step(header):
            versions = self.shards.apply(header["update"], arrays, once=header.get("once"), assigned=assigned)
        self._turns.note_push(header["stream"])
        return {"versions": versions}

    def _step(self, header: dict[str, Any]) -> contextlib.AbstractContextManager[None]:
        """Wait until the step of a message may be made here."""
        if "step" not in header:
            return contextlib.nullcontext()
        return self._gate.step(header["stream"], header["step"], header["servers"])

    def _begin(self, header: dict[str, Any], arrays: Sequence[np.ndarray]) -> dict[str, Any]:
        self._turns.begin(header["step"], header["stream"], header["bound"])
        return {}

    def _claim(self, header: dict[str, Any], arrays: Sequence[np.ndarray]) -> dict[str, Any]:
        return {"may_push": self._turns.claim(header["step"])}

    def _finish(self, header: dict[str, Any], arrays: Sequence[np.ndarray]) -> dict[str, Any]:
        self._turns.end(header["step"])
        return {}

    def _staleness(self, header: dict[str, Any], arrays: Sequence[np.ndarray]) -> dict[str, Any]:
        return {"staleness": list(self._turns.staleness.items())}

    def _hold(self, header: dict[str, Any], arrays: Sequence[np.ndarray]) -> dict[str, Any]:
        return {"steps": self._gate.hold(header["stream"])}

    def _mark(self, header: dict[str, Any], arrays: Sequence[np.ndarray]) -> dict[str, Any]:
        stream, steps = header["stream"], header["steps"]
        # One server has no steps that others still wait for.
        missing = [] if steps is None else self._gate.wait_for(stream, steps, header["seconds"])
        mark = f"{stream} {header['which']}"
        self.shards.mark(mark)
        return {"missing": missing, "mark": mark}

    def _release(self, header: dict[str, Any], arrays: Sequence[np.ndarray]) -> dict[str, Any]:
        self._gate.forget(header["forgotten"])
        return {"was_held": self._gate.release(header["stream"])}

    def _unmark(self, header: dict[str, Any], arrays: Sequence[np.ndarray]) -> dict[str, Any]:
        self.shards.unmark(header["mark"])
        return {}
