"""`WorkerServer`: runs the steps that a coordinator sends (distribute layer)."""

import dataclasses
import functools
import logging
import pickle
import threading
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jax import export

from stratax.base.shown import shown
from stratax.errors import AbortedError, BadArgumentError, FailedPreconditionError, InternalError
from stratax.parameter_servers.remote._conversation import Conversation
from stratax.parameter_servers.remote._host_calls import WorkerCalls
from stratax.parameter_servers.remote._servers import Servers
from stratax.parameter_servers.remote._step import RemoteStep, StepRunner, UnfitError
from stratax.parameter_servers.servers import Answer, Certificates, Message, MessageServer

_logger = logging.getLogger("stratax")


class WorkerServer(MessageServer):
    """Runs what a coordinator sends: steps, which are compiled programs, and functions that make datasets.

    Functions that make datasets, and what steps print and assert, travel as Python, pickled. Nothing is unpickled that
    came over a connection whose other end has not shown that it belongs to the cluster.

    Args:
        host: The address to listen on.
        port: The port; 0 for a free one.
        certificates: What the worker shows, and asks of others.
        servers: Its connections to the parameter servers.
        on_end: Called when the coordinator says that the job is over, with its error if it has failed.

    Raises:
        ClusterError: Nothing can listen there.
    """

    def __init__(
        self,
        host: str,
        port: int,
        certificates: Certificates,
        servers: Servers,
        on_end: Callable[[str | None], None] | None = None,
    ) -> None:
        self._servers = servers
        self._runner = StepRunner(servers)
        self._programs: dict[str, _Program] = {}
        # The last one that was begun, and the one of the step that runs.
        self._conversation: Conversation | None = None
        self._asking: Conversation | None = None
        self._datasets: dict[str, Any] = {}
        self._iterators: dict[str, Any] = {}
        self._answers: dict[str, Answer] = {
            "load": self._load,
            "dataset": self._dataset,
            "iterator": self._iterator,
            "peek": self._peek,
            "drop": self._drop,
            "run": self._run,
            "go on": self._go_on,
        }
        # One step after another: they share iterators.
        self._running = threading.Lock()
        super().__init__(host, port, certificates, on_end)

    def close(self) -> None:
        self._give_up()
        # First: the servers wait for the streams of those that use them.
        self._servers.close()
        super().close()

    def answers(self) -> dict[str, Answer]:
        return self._answers

    def look_up(self, header: dict[str, Any], arrays: Sequence[np.ndarray], writer: object) -> bool:
        if header.get("op") != "hello":
            return False
        self.write(
            writer, {"platform": export.default_export_platform(), "num_programs": len(self._programs)}
        )
        return True

    def _load(self, header: dict[str, Any], arrays: Sequence[np.ndarray]) -> dict[str, Any]:
        step = RemoteStep.from_json(header["step"])
        num_programs = header["num_programs"]
        try:
            programs = [export.deserialize(bytearray(each.tobytes())) for each in arrays[:num_programs]]
        except Exception as error:  # JAX says with various errors that bytes are no function.
            raise BadArgumentError(
                f"A step is no function that JAX of this version exported ({type(error).__name__}). Run the same "
                "version of JAX in all tasks."
            ) from error
        own = header["own"]
        for name, value in zip(own, arrays[num_programs : num_programs + len(own)], strict=True):
            self._runner.set_own(name, value)
        compiled: list[Any] = [jax.jit(each.call) for each in programs]
        asks = False
        if header["calls"]:
            calls = WorkerCalls(arrays[-1].tobytes(), self._ask)
            compiled[0], asks = calls.program(programs[0]), calls.asks
        self._programs[header["program"]] = _Program(step, compiled, asks)
        return {}

    def _dataset(self, header: dict[str, Any], arrays: Sequence[np.ndarray]) -> Message:
        make = pickle.loads(arrays[0].tobytes())
        dataset = self._datasets[header["dataset"]] = make()
        return _pickle(dataset.element_spec)

    def _iterator(self, header: dict[str, Any], arrays: Sequence[np.ndarray]) -> dict[str, Any]:
        dataset = self._datasets.get(header["dataset"])
        if dataset is None:
            raise FailedPreconditionError(f"This worker has no dataset {shown(header['dataset'])}.")
        self._iterators[header["iterator"]] = iter(dataset)
        return {}

    def _peek(self, header: dict[str, Any], arrays: Sequence[np.ndarray]) -> Message:
        return _pickle(self._iterators[header["iterator"]].peek_up_to(0, 1))

    def _drop(self, header: dict[str, Any], arrays: Sequence[np.ndarray]) -> dict[str, Any]:
        self._datasets.pop(header["name"], None)
        self._iterators.pop(header["name"], None)
        return {}

    def _run(self, header: dict[str, Any], arrays: Sequence[np.ndarray]) -> Message:
        program = self._programs.get(header["program"])
        if program is None:
            raise FailedPreconditionError(f"This worker has no step {shown(header['program'])}.")
        self._give_up()
        if not program.asks:
            return self._answer_of(program, header, arrays, None)
        made = self._conversation = Conversation(functools.partial(self._answer_of, program, header, arrays))
        return made.begin()

    def _go_on(self, header: dict[str, Any], arrays: Sequence[np.ndarray]) -> Message:
        if self._conversation is None:
            raise FailedPreconditionError("This worker runs no step that has asked for anything.")
        return self._conversation.go_on(AbortedError("It has failed.") if header["failed"] else list(arrays))

    def _ask(self, number: int, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        if self._asking is None:
            raise InternalError("A step asks its coordinator, and was begun without one.")
        return self._asking.ask(number, arrays)

    def _give_up(self) -> None:
        """End a step that still waits for a coordinator, which asks for another one now."""
        if self._conversation is not None:
            self._conversation.give_up()

    def _answer_of(
        self,
        program: "_Program",
        header: dict[str, Any],
        arrays: Sequence[np.ndarray],
        conversation: Conversation | None,
    ) -> Message:
        with self._running:
            # Not the last one that was begun: a step that was given up may still run.
            self._asking = conversation
            iterators = [self._iterators[name] for name in header["iterators"]]
            try:
                results = self._runner.run(program.step, program.compiled, iterators, arrays, header["once"])
            except UnfitError:
                # What they are like instead, for each iterator.
                return _pickle([each.peek_up_to(0, header["ahead"]) for each in iterators], unfit=True)
        return Message({}, results)


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class _Program:
    """A step that this worker has.

    Attributes:
        step: What it takes and gives.
        compiled: Its programs.
        asks: Whether it asks the coordinator for something while it runs.
    """

    step: RemoteStep
    compiled: list[Any]
    asks: bool


def _pickle(value: object, **header: object) -> Message:
    return Message(header, [np.frombuffer(pickle.dumps(value), np.uint8)])
