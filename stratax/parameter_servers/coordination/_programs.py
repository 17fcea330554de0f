"""What closures become: programs, traced once here, which workers run (distribute layer)."""

import dataclasses
import threading
import uuid
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from stratax.core import Function, autograph
from stratax.distribute.replicas import enter_contexts
from stratax.distribute.strategies import RemoteExecution, Strategy
from stratax.errors import InternalError
from stratax.parameter_servers.coordination._stream import WorkerStream
from stratax.parameter_servers.remote import Parcel, RemoteProgram


class CallProgram:
    """A program for a call.

    Attributes:
        name: What workers know it by.
        program: The program.
        streams: The iterators that the call has among its arguments, in order.
        arrays: The arrays among them, and the values of variables of this process.
        num_elements: How many elements the program takes at most from one of the iterators.
    """

    def __init__(
        self, known: "_Known", program: RemoteProgram, streams: list[WorkerStream], arrays: list[np.ndarray]
    ) -> None:
        self.name = known.name
        self.program = program
        self.streams = streams
        self.arrays = arrays
        self.num_elements = max(1, len(program.feeds))
        self._known = known

    def for_worker(self, platform: str, index: int) -> Parcel:
        """Return the program as it is sent to a worker; see `RemoteProgram.step`.

        Args:
            platform: What the worker computes on.
            index: The worker's number.
        """
        return self._known.for_worker(self.program, platform, index)


class _Known:
    """What is known of a program: its name, and how it is sent."""

    def __init__(self, traced: list[Any]) -> None:
        self.name = uuid.uuid4().hex
        self._traced = traced
        self._lock = threading.Lock()
        self._sent: dict[str, Parcel] = {}

    def for_worker(self, program: RemoteProgram, platform: str, index: int) -> Parcel:
        with self._lock:
            if platform not in self._sent:
                self._sent[platform] = program.step(self._traced, platform)
            sent = self._sent[platform]
        own = {name: _of_worker(value, index) for name, value in sent.own.items()}
        return dataclasses.replace(sent, own=own)


class ScheduledPrograms:
    """Traces functions that are scheduled.

    Args:
        strategy: The strategy that they are scheduled under.
    """

    def __init__(self, strategy: Strategy) -> None:
        # What tells this coordinator's closures from another's.
        self.name = uuid.uuid4().hex
        self._strategy = strategy
        execution = strategy.extended.execution
        if not isinstance(execution, RemoteExecution):
            raise InternalError("A coordinator needs variables on parameter servers.")
        self._execution = execution
        self._function = Function(self._trace_call, autograph=False, calls_argument=True)
        self._known: weakref.WeakKeyDictionary[Any, _Known] = weakref.WeakKeyDictionary()
        # One function is traced at a time, by whichever worker's thread comes first.
        self._lock = threading.Lock()

    def make(
        self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> CallProgram:
        """Return the program of a call, traced if there is none yet.

        Args:
            function: The function.
            args: Its positional arguments, with a worker's streams.
            kwargs: Its keyword arguments.
        """
        with self._lock, enter_contexts(self._strategy, None):
            program, traced, arguments = self._function.prepared(function, args, kwargs)
            if not isinstance(program, RemoteProgram):
                raise InternalError("A scheduled function was traced as a program of this process.")
            known = self._known.get(program)
            if known is None:
                known = self._known[program] = _Known(traced)
        return CallProgram(
            known,
            program,
            arguments.streams,
            [*(np.asarray(each) for each in arguments.dynamic), *program.collect_given()],
        )

    def _trace_call(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        converted = function if isinstance(function, Function) else autograph.convert(function)
        return self._execution.pushing(converted, args, kwargs, None)


def _of_worker(value: np.ndarray, index: int) -> np.ndarray:
    """Return a worker's first value of a random state: they differ between workers."""
    return value ^ np.array([(index * 0x9E3779B9) & 0xFFFFFFFF, 0], np.uint32)
