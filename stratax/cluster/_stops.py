"""How all tasks come to stop at the same step, while none has to wait for the others' programs (cluster layer).

Every task notes which step it begins. When one asks for a stop, each connection's own thread tells the coordinator
which step its task has begun, and the coordinator answers all with the first step that none has. Meanwhile no task
begins another step: it waits for that answer, which needs nobody's program to go on. Were the programs to meet instead,
one could wait for the others to come while they wait, inside a step, for its part in it.
"""

import concurrent.futures
import dataclasses
from typing import Any

# The name of the stop that ends the whole program.
PROGRAM = "program"


@dataclasses.dataclass(slots=True)
class Stop:
    """Something that the tasks do step by step and can stop together, as one of them knows it.

    Attributes:
        reason: Why a task asked to stop; None while none has.
        begun: The last step that this task began.
        agreed: The first step that no task begins.
    """

    reason: str | None = None
    begun: int = -1
    agreed: "concurrent.futures.Future[int]" = dataclasses.field(default_factory=concurrent.futures.Future)


class Stops:
    """The stops of one task, by name. What to send is returned."""

    def __init__(self) -> None:
        self._stops: dict[str, Stop] = {}

    def get(self, name: str) -> Stop:
        """Return the stop of this name, from any thread."""
        # `setdefault` is one step for Python, so that two threads get the same stop.
        return self._stops.get(name) or self._stops.setdefault(name, Stop())

    def note_asked(self, name: str, reason: str) -> dict[str, Any]:
        """Note that a task asked to stop, and return the answer to the coordinator.

        Args:
            name: The stop.
            reason: Why.
        """
        stop = self.get(name)
        # In this order: a program that begins a step first says so, and then looks for a reason.
        stop.reason = reason
        return {"t": "begun", "name": name, "step": stop.begun}

    def settle(self, name: str, step: int) -> None:
        """Note the coordinator's answer.

        Args:
            name: The stop.
            step: The first step that no task begins.
        """
        agreed = self.get(name).agreed
        # A failure may have ended the wait before.
        if not agreed.done():
            agreed.set_result(step)

    def fail(self, error: Exception) -> None:
        """End all waits.

        Args:
            error: What those who wait get.
        """
        for stop in list(self._stops.values()):
            if not stop.agreed.done():
                stop.agreed.set_exception(error)


class StopsOfAll:
    """The coordinator's side: which step each task has begun, for each stop that was asked for.

    Args:
        num_tasks: How many tasks there are.
    """

    def __init__(self, num_tasks: int) -> None:
        self._num_tasks = num_tasks
        self._asked: set[str] = set()
        self._begun: dict[str, dict[int, int]] = {}

    def ask(self, name: str) -> bool:
        """Note that a stop was asked for; say whether it is the first time."""
        # Several tasks may ask for the same stop at once, as when all get SIGTERM.
        is_new = name not in self._asked
        if is_new:
            self._asked.add(name)
            # Emptied by `answer`; the name stays among those asked for, as a stop is agreed on once.
            self._begun[name] = {}
        return is_new

    def answer(self, name: str, index: int, step: int) -> int | None:
        """Note a task's answer.

        Args:
            name: The stop.
            index: The task's number.
            step: The step that it has begun.

        Returns:
            The step to stop before, once all have answered; None before.
        """
        begun = self._begun.get(name, {})
        begun[index] = step
        if len(begun) < self._num_tasks:
            return None
        del self._begun[name]
        # No task has begun this step, so each can stop right before it, and none has to undo one.
        return max(begun.values()) + 1
