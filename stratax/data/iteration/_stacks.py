"""Iterators that stack their elements by themselves (data layer)."""

import abc
from typing import Any


class Stacks(abc.ABC):
    """An iterator that gives several elements of one shape at once, and whose position can be saved."""

    @abc.abstractmethod
    def next_block(self, k: int) -> tuple[Any, int]:
        """Return up to `k` next elements of the same shapes, stacked, and how many they are.

        Raises:
            StopIteration: There are no more elements.
        """

    @abc.abstractmethod
    def get_state(self) -> dict[str, Any]:
        """Return the position behind the last element, as a small dict that JSON can hold."""

    @abc.abstractmethod
    def set_state(self, state: dict[str, Any]) -> None:
        """Go to a position that :meth:`get_state` returned."""

    def close(self) -> None:  # noqa: B027  # Arrays in memory need no end.
        """End the iteration, and let go of what it holds."""
