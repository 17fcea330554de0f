"""`Conversation`: a step that asks its coordinator for something while it runs (distribute layer).

A coordinator asks a worker to run a step; it can't be asked itself. So the worker's answer may be a question: then the
coordinator asks it to go on, with what was wanted.
"""

import queue
import threading
from collections.abc import Callable, Sequence

import numpy as np

from stratax.errors import AbortedError
from stratax.parameter_servers.servers import Message


class Conversation:
    """Runs a step in a thread of its own.

    Args:
        run: Runs the step in this conversation, and gives the answer. It calls :meth:`ask`, from any thread.
    """

    def __init__(self, run: "Callable[[Conversation], Message]") -> None:
        self._run = run
        self._said: queue.SimpleQueue[Message | BaseException] = queue.SimpleQueue()
        self._heard: queue.SimpleQueue[list[np.ndarray] | BaseException] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="step", daemon=True)

    def begin(self) -> Message:
        """Begin the step, and return its first question, or its answer."""
        self._thread.start()
        return self._next()

    def go_on(self, found: list[np.ndarray] | BaseException) -> Message:
        """Answer the last question, or have it raise; return the next question, or the step's answer."""
        self._heard.put(found)
        return self._next()

    def ask(self, number: int, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Ask the coordinator to call a function.

        Args:
            number: Its number.
            arrays: Its arguments.
        """
        self._said.put(Message({"call": number}, list(arrays)))
        found = self._heard.get()
        if isinstance(found, BaseException):
            raise found
        return found

    def give_up(self) -> None:
        """End the step, as nobody answers its questions any more."""
        self._heard.put(
            AbortedError("The coordinator of this step is gone, or has given it to another worker.")
        )

    def _work(self) -> None:
        try:
            self._said.put(self._run(self))
        except BaseException as error:
            self._said.put(error)

    def _next(self) -> Message:
        said = self._said.get()
        if isinstance(said, BaseException):
            raise said
        return said
