"""Who takes part in a strategy: the second of the four parts that a strategy composes (distribute layer)."""

import abc
import contextlib
import threading
from typing import Any

import jax
import numpy as np

from stratax.distribute import _loop
from stratax.distribute.replicas import Share


class StrategyMembership(abc.ABC):
    """Says which processes take part, and what this one has to notify the others of.

    Nothing here demands that members take steps together; those that do are :class:`InStep`.
    """

    @property
    @abc.abstractmethod
    def is_chief(self) -> bool:
        """Whether this process is the one that writes files and shows progress for all."""

    @property
    @abc.abstractmethod
    def share(self) -> Share:
        """Which of the replicas that compute together are this process's."""

    @property
    def pipelines(self) -> tuple[int, int]:
        """How many input pipelines there are, each in a process of its own, and which one is this process's."""
        return self.share.processes, self.share.index

    @property
    def num_others(self) -> int:
        """How many processes train the same variables beside this one without waiting for it."""
        return 0

    @abc.abstractmethod
    def agree(self, values: list[Any]) -> list[Any]:
        """Return the values with which all members go on: the chief's, where they act in step; else the process's own.

        Args:
            values: Arrays, of the same shapes and dtypes in all members.
        """

    def check_alike(self, values: list[Any]) -> bool:
        """Check before :meth:`agree` that all members have values of the same shapes and dtypes.

        Args:
            values: This member's.

        Returns:
            Whether they are equal, to the bit: then there is nothing to agree on.

        Raises:
            StructureError: In all of them, if they run different programs. To combine such values aborts a process.
        """
        del values  # A process by itself is like itself.
        return True

    @abc.abstractmethod
    def gather(self, value: bytes) -> list[bytes]:
        """Return the values of all members that act in step, in their order; else only the process's own."""

    @abc.abstractmethod
    def phase(self, name: str) -> contextlib.AbstractContextManager[Any]:
        """Return a context that tells other members what the program does in a block.

        Args:
            name: ``"evaluating"`` or ``"saving"``.
        """

    @abc.abstractmethod
    def waiting(self, for_others: bool) -> contextlib.AbstractContextManager[Any]:
        """Return a context that says who is to be waited for in a block that waits for input.

        Args:
            for_others: Whether it is other members; else it is the source of the data.
        """

    @abc.abstractmethod
    def loop(self) -> _loop.LoopAlone:
        """Begin a loop of steps, together with all members that act in step."""


class InStep(StrategyMembership):
    """Capability of a membership: several processes take every step together, so they have to agree before they act.

    All of them call its methods in the same order.
    """

    @abc.abstractmethod
    def exchange(self, name: str, value: bytes, stop: threading.Event | None = None) -> list[bytes]:
        """Return all members' values under one name.

        Args:
            name: What the value is, the same in all members and used once.
            value: This member's.
            stop: Ends the wait when it is set, in another thread.
        """

    @abc.abstractmethod
    def next_name(self, purpose: str) -> str:
        """Return a name for :meth:`exchange` that is new, and the same in all members.

        Args:
            purpose: What it is for, which a message about a member that does not come tells in words.
        """

    @abc.abstractmethod
    def gather_whole(self, array: jax.Array) -> np.ndarray:
        """Return the value of an array of which other members have parts; all of them call it with the same one."""

    @abc.abstractmethod
    def specs_of_all(self, specs: list[Any]) -> list[Any]:
        """Return the shapes and dtypes of components on all replicas, for each value that is per replica.

        Args:
            specs: For each value those of this process's components; None where it is not per replica.

        Raises:
            StructureError: If members have different structures.
        """


class Alone(StrategyMembership):
    """A process that takes part alone."""

    @property
    def is_chief(self) -> bool:
        return True

    @property
    def share(self) -> Share:
        return Share()

    def agree(self, values: list[Any]) -> list[Any]:
        return values

    def gather(self, value: bytes) -> list[bytes]:
        return [value]

    def phase(self, name: str) -> contextlib.AbstractContextManager[Any]:
        return contextlib.nullcontext()

    def waiting(self, for_others: bool) -> contextlib.AbstractContextManager[Any]:
        return contextlib.nullcontext()

    def loop(self) -> _loop.LoopAlone:
        return _loop.LoopAlone()


class OneOfMany(Alone):
    """A process that trains the same variables as others do, in a loop of its own: nobody waits for anybody.

    Args:
        count: How many there are.
        index: Which one this is; None where it does not train.
        is_chief: Whether it is the one that writes files.
    """

    def __init__(self, count: int, index: int | None, *, is_chief: bool) -> None:
        self._count = count
        self._index = index
        self._is_chief = is_chief

    @property
    def is_chief(self) -> bool:
        return self._is_chief

    @property
    def pipelines(self) -> tuple[int, int]:
        return self._count, self._index or 0

    @property
    def num_others(self) -> int:
        return self._count if self._index is None else self._count - 1
