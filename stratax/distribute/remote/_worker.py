"""`WorkerServer`: runs the steps that a coordinator sends (distribute layer)."""

import logging
import pickle
import threading
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jax import export

from stratax._shown import shown
from stratax.distribute.remote._host_calls import HERE, HostCalls
from stratax.distribute.remote._servers import Servers
from stratax.distribute.remote._step import Step, StepRunner, UnfitError
from stratax.errors import BadArgumentError, FailedPreconditionError
from stratax.servers import Answer, Certificates, Message, MessageServer

_logger = logging.getLogger("stratax")


class WorkerServer(MessageServer):
    """Runs what a coordinator sends: steps, which are compiled programs, and functions that make datasets.

    Functions that make datasets, and those that steps call while they run, travel as Python, pickled. Nothing is
    unpickled that came over a connection whose other end has not shown that it belongs to the cluster.

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
        self._programs: dict[str, tuple[Step, list[Any]]] = {}
        self._datasets: dict[str, Any] = {}
        self._iterators: dict[str, Any] = {}
        self._answers: dict[str, Answer] = {
            "load": self._load,
            "dataset": self._dataset,
            "iterator": self._iterator,
            "peek": self._peek,
            "drop": self._drop,
            "run": self._run,
        }
        # One step after another: they share iterators.
        self._running = threading.Lock()
        super().__init__(host, port, certificates, on_end)

    def close(self) -> None:
        # First: the servers wait for the streams of those that use them.
        self._servers.close()
        super().close()

    def answers(self) -> dict[str, Answer]:
        return self._answers

    def look_up(self, header: dict[str, Any], arrays: Sequence[np.ndarray], writer: Any) -> bool:
        if header.get("op") != "hello":
            return False
        self.write(
            writer,
            {
                "platform": export.default_export_platform(),
                "process": HERE,
                "num_programs": len(self._programs),
            },
        )
        return True

    def _load(self, header: dict[str, Any], arrays: Sequence[np.ndarray]) -> dict[str, Any]:
        step = Step.from_json(header["step"])
        num_programs = header["num_programs"]
        try:
            programs = [export.deserialize(bytearray(each.tobytes())) for each in arrays[:num_programs]]
        except Exception as error:  # JAX says with various errors that bytes are no function.
            raise BadArgumentError(
                f"A step is no function that JAX of this version exported ({type(error).__name__}). Run the same "
                "version of JAX in all tasks."
            ) from error
        own = len(header["own"])
        for name, value in zip(header["own"], arrays[num_programs : num_programs + own], strict=True):
            self._runner.set_own(name, value)
        compiled: list[Any] = [jax.jit(each.call) for each in programs]
        if header["calls"] is not None:
            # The coordinator's own functions, if it is in this process.
            pickled = arrays[num_programs + own :]
            calls = HostCalls.unpickled(pickled[0].tobytes()) if pickled else HostCalls.named(header["calls"])
            compiled[0] = calls.program(programs[0])
        self._programs[header["program"]] = step, compiled
        return {}

    def _dataset(self, header: dict[str, Any], arrays: Sequence[np.ndarray]) -> Message:
        make = pickle.loads(arrays[0].tobytes())
        dataset = self._datasets[header["dataset"]] = make()
        return _pickled(dataset.element_spec)

    def _iterator(self, header: dict[str, Any], arrays: Sequence[np.ndarray]) -> dict[str, Any]:
        dataset = self._datasets.get(header["dataset"])
        if dataset is None:
            raise FailedPreconditionError(f"This worker has no dataset {shown(header['dataset'])}.")
        self._iterators[header["iterator"]] = iter(dataset)
        return {}

    def _peek(self, header: dict[str, Any], arrays: Sequence[np.ndarray]) -> Message:
        return _pickled(self._iterators[header["iterator"]].peek_up_to(0, 1))

    def _drop(self, header: dict[str, Any], arrays: Sequence[np.ndarray]) -> dict[str, Any]:
        self._datasets.pop(header["name"], None)
        self._iterators.pop(header["name"], None)
        return {}

    def _run(self, header: dict[str, Any], arrays: Sequence[np.ndarray]) -> dict[str, Any] | Message:
        found = self._programs.get(header["program"])
        if found is None:
            raise FailedPreconditionError(f"This worker has no step {shown(header['program'])}.")
        step, compiled = found
        with self._running:
            iterators = [self._iterators[name] for name in header["iterators"]]
            try:
                results = self._runner.run(step, compiled, iterators, arrays, header["once"])
            except UnfitError:
                # What they are like instead, for each iterator.
                return _pickled([each.peek_up_to(0, header["ahead"]) for each in iterators], unfit=True)
        return Message({}, results)


def _pickled(value: Any, **header: Any) -> Message:
    return Message(header, [np.frombuffer(pickle.dumps(value), np.uint8)])
