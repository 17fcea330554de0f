"""`WorkerLink`: how a coordinator has one worker run closures, for as long as it lives (distribute layer)."""

import contextlib
import logging
import pickle
import threading
import time
import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from stratax.errors import (
    AbortedError,
    BadTypeError,
    ClusterTimeoutError,
    InternalError,
    OutOfRangeError,
    PeerLostError,
    StrataxError,
    UnknownError,
)
from stratax.parameter_servers.coordination._queue import Closure, ClosureQueue, Look
from stratax.parameter_servers.coordination._stream import WorkerStream
from stratax.parameter_servers.coordination._values import (
    PerWorkerDataset,
    PerWorkerIterator,
    PerWorkerValues,
    RemoteValue,
)
from stratax.parameter_servers.remote import HostCalls
from stratax.parameter_servers.servers import Certificates, Connection, Deadlines, Message

if TYPE_CHECKING:
    from stratax.parameter_servers.coordination._programs import CallProgram, ScheduledPrograms

# How long a step may take, in seconds: a worker that lives is waited for. One that does not answer in between is given
# up after a few seconds.
_STEP_SECONDS = 7 * 24 * 3600.0

# How long a worker may not answer, while it computes, before its closures are given to others, in seconds.
SILENCE_SECONDS = 7.0

# How long a connection that is refused is tried again before the worker counts as lost, in seconds.
_RECONNECT_SECONDS = 1.0
_PAUSE_SECONDS = 0.5
_MOST_ATTEMPTS = 8
_logger = logging.getLogger("stratax")


class _Life:
    """One start of a worker: what it has been told, and its connection."""

    def __init__(self, connection: Connection, platform: str) -> None:
        self.connection = connection
        self.platform = platform
        # With what each of them calls.
        self.programs: dict[str, HostCalls | None] = {}
        self.specs: dict[str, Any] = {}
        self.streams: dict[str, WorkerStream] = {}


class WorkerLink:
    """Takes closures from the queue, in a thread of its own, and has a worker run them.

    A worker that is lost is waited for. Its closure goes back to the queue.

    Args:
        name: The worker's name, such as ``"/job:worker/task:0"``.
        index: Its number.
        address: Where it listens, ``"host:port"``.
        certificates: What this task shows, and asks of workers.
        queue: The closures.
        programs: What closures become.

    Attributes:
        name: The worker's name.
        was_here: Whether the worker has ever been reached.
    """

    def __init__(
        self,
        name: str,
        index: int,
        address: str,
        certificates: Certificates,
        queue: ClosureQueue,
        programs: "ScheduledPrograms",
    ) -> None:
        self.name = name
        self._index = index
        self._address = address
        self._certificates = certificates
        self._queue = queue
        self._programs = programs
        self._deadlines = Deadlines()
        self._closed = threading.Event()
        self._life: _Life | None = None
        self.was_here = False
        for target, kind in ((self._work, "run"), (self._watch, "watch")):
            threading.Thread(target=target, name=f"{kind}-{name}", daemon=True).start()

    def close(self) -> None:
        """Run no more closures, and end the connections."""
        self._closed.set()
        life = self._life
        if life is not None:
            life.connection.abort()
        self._deadlines.close()

    @property
    def is_here(self) -> bool:
        """Whether the worker can be reached."""
        return self._life is not None

    def _work(self) -> None:
        while not self._closed.is_set():
            life = self._life = self._life or self._begin()
            if life is None:
                self._closed.wait(_PAUSE_SECONDS)
                continue
            closure = self._queue.get(lambda life=life: self._life is life and not self._closed.is_set())  # type: ignore[misc]
            if closure is not None:
                self._run(life, closure)
        if self._life is not None:
            self._life.connection.close()

    def _begin(self) -> _Life | None:
        connection = self._connect(stream=0)
        with contextlib.suppress(PeerLostError, ClusterTimeoutError):
            platform = connection.ask({"op": "hello"}).header["platform"]
            # Seen where nothing is set up, as its loss is: the number of workers has changed while they train.
            level = logging.WARNING if self.was_here or self._queue.has_begun else logging.INFO
            again = " again" if self.was_here else ""
            _logger.log(level, "Worker %s at %s takes part%s.", self.name, self._address, again)
            self.was_here = True
            return _Life(connection, platform)
        connection.close()
        return None

    def _connect(self, stream: int, timeout: float = _STEP_SECONDS) -> Connection:
        return Connection(
            self.name,
            self._address,
            self._certificates,
            self._deadlines,
            # A new one for each life: what an earlier one has begun is not gone on with.
            task=uuid.uuid4().hex,
            stream=stream,
            timeout=timeout,
            patience=_RECONNECT_SECONDS,
        )

    def _watch(self) -> None:
        """Ask the worker now and then, beside what it computes, whether it still lives."""
        connection = self._connect(stream=1, timeout=SILENCE_SECONDS)
        while not self._closed.wait(SILENCE_SECONDS / 4):
            life = self._life
            if life is None:
                continue
            try:
                connection.ask({"op": "hello"})
            except (PeerLostError, ClusterTimeoutError) as error:
                connection.close()
                connection = self._connect(stream=1, timeout=SILENCE_SECONDS)
                self._lose(life, error)
        connection.close()

    def _lose(self, life: _Life, error: Exception) -> None:
        if self._life is life:
            self._life = None
            _logger.warning(
                "Worker %s has left or is lost; a step that it had begun goes to another one: %s",
                self.name,
                str(error).partition("\n")[0],
            )
        life.connection.abort()

    def _run(self, life: _Life, closure: Closure) -> None:
        try:
            result = self._result(life, closure)
        except (PeerLostError, ClusterTimeoutError) as error:
            if getattr(error, "said_by", None) is not None:
                # A parameter server is lost, which the worker has told.
                closure.value.fail(error)
                self._queue.note_failure(error)
                return
            self._lose(life, error)
            self._queue.put_back(closure)
        except BaseException as error:
            closure.value.fail(error)
            self._queue.note_failure(error)
        else:
            closure.value.complete(result)
            self._queue.note_finished()

    def _result(self, life: _Life, closure: Closure) -> Any:
        def own(leaf: object) -> Any:
            if isinstance(leaf, RemoteValue):
                return leaf.get()
            return self._own(life, leaf) if isinstance(leaf, PerWorkerValues) else leaf

        leaves, structure = jax.tree.flatten(
            (closure.args, closure.kwargs),
            is_leaf=lambda leaf: isinstance(leaf, RemoteValue | PerWorkerValues),
        )
        # A list: the end of a dataset is a StopIteration too, which generators do not let through.
        args, kwargs = jax.tree.unflatten(structure, [own(leaf) for leaf in leaves])
        if isinstance(closure, Look):
            return args[0].runs[0][0]
        for _ in range(_MOST_ATTEMPTS):
            made = self._programs.make(closure.function, args, kwargs)
            if made.name not in life.programs:
                sent = made.for_worker(life.platform, self._index)
                pickled = [] if sent.calls is None else [sent.calls.pickle()]
                life.connection.ask(
                    {
                        "op": "load",
                        "program": made.name,
                        "step": sent.step.as_json(),
                        "num_programs": len(sent.programs),
                        "own": list(sent.own),
                        "calls": sent.calls is not None,
                    },
                    [
                        *(np.frombuffer(each, np.uint8) for each in sent.programs),
                        *sent.own.values(),
                        *(np.frombuffer(each, np.uint8) for each in pickled),
                    ],
                )
                life.programs[made.name] = sent.calls
            answer = self._run_step(
                life,
                made,
                {
                    "op": "run",
                    "program": made.name,
                    "iterators": [stream.name for stream in made.streams],
                    "once": f"{self._programs.name}/{closure.number}",
                    "ahead": made.num_elements,
                },
            )
            if not answer.header.get("unfit"):
                return made.program.results(answer.arrays)
            for stream, runs in zip(made.streams, pickle.loads(answer.arrays[0].tobytes()), strict=True):
                stream.runs = runs or stream.runs
        raise InternalError("A worker's elements have another shape each time that it is asked.")

    def _run_step(self, life: _Life, made: "CallProgram", header: dict[str, Any]) -> Message:
        """Have the worker run a step, and return its answer; call what the step asks for while it runs."""
        answer = life.connection.ask(header, made.arrays)
        calls = life.programs[made.name]
        while calls is not None and "call" in answer.header:
            try:
                results = calls.call(answer.header["call"], answer.arrays)
            except StrataxError:
                # The worker gives the step up, and what it says of that is known better here.
                with contextlib.suppress(AbortedError, UnknownError):
                    life.connection.ask({"op": "go on", "failed": True})
                raise
            answer = life.connection.ask({"op": "go on", "failed": False}, results)
        return answer

    def _own(self, life: _Life, resource: PerWorkerValues) -> Any:
        """Return what a function gets for a value that each worker has for itself."""
        if not isinstance(resource, PerWorkerIterator):
            raise BadTypeError(
                "A function that is scheduled takes elements of an iterator. Expected: iter(per_worker_dataset) among "
                "its arguments. Received: the dataset itself."
            )
        stream = life.streams.get(resource.name)
        if stream is None:
            self._make(life, resource.dataset)
            connection = life.connection
            connection.ask({"op": "iterator", "dataset": resource.dataset.name, "iterator": resource.name})
            stream = WorkerStream(resource.name, life.specs[resource.dataset.name])
            answer = connection.ask({"op": "peek", "iterator": resource.name})
            stream.runs = pickle.loads(answer.arrays[0].tobytes())
            if not stream.runs:
                raise OutOfRangeError("The dataset of a worker has no elements.")
            life.streams[resource.name] = stream
        return stream

    def _make(self, life: _Life, dataset: PerWorkerDataset) -> None:
        if dataset.name not in life.specs:
            payload = np.frombuffer(dataset.payload, np.uint8)
            answer = life.connection.ask({"op": "dataset", "dataset": dataset.name}, [payload])
            life.specs[dataset.name] = pickle.loads(answer.arrays[0].tobytes())


def wait_for(condition: Callable[[], bool], seconds: float) -> bool:
    """Wait until a condition holds; return whether it does.

    Args:
        condition: The condition.
        seconds: For how long.
    """
    until = time.monotonic() + seconds
    while not condition():
        if time.monotonic() >= until:
            return False
        time.sleep(_PAUSE_SECONDS / 10)
    return True
