"""What saves itself where Orbax asks for it (data layer)."""

from collections.abc import Awaitable
from typing import Any


class Checkpointable:
    """What Orbax asks of an object that saves itself (its `StatefulCheckpointable`)."""

    def get_state(self) -> dict[str, Any]:
        """Return the position behind the last element."""
        raise NotImplementedError

    def set_state(self, state: dict[str, Any]) -> None:
        """Go to a position that `get_state` returned."""
        raise NotImplementedError

    async def save(self, directory: object) -> Awaitable[None]:
        """Save the current position for Orbax, which calls this when the iterator is part of a checkpoint.

        Args:
            directory: Where to; it may still be being made.

        Returns:
            What writes it, for Orbax to wait for in the background.
        """
        # Late, as below: hardly a program uses Orbax.
        from stratax.data.position import _orbax

        return _orbax.write_place(directory, self.get_state())

    async def load(self, directory: object) -> Awaitable[None]:
        """Go to the position that was saved, for Orbax.

        Args:
            directory: Where from.

        Returns:
            What reads it, for Orbax to wait for.
        """
        from stratax.data.position import _orbax

        return _orbax.read_place(directory, self.set_state)
