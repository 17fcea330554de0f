"""The region of a step whose updates are made on servers (distribute layer)."""

from collections.abc import Iterator
from typing import Any, NoReturn

import keras

from stratax.base.shown import shown
from stratax.core import regions
from stratax.distribute.replicas import PostponedUpdate, PostponesUpdates
from stratax.errors import TracingError


class PushingRegion(regions.Region, PostponesUpdates):
    """What a step reads is its program's; updates of optimizers leave it as they are asked for.

    A variable that the step looks at behind such an update has the value that the update gives it here.

    Args:
        parent: The region of the program.
    """

    parent: regions.Region

    def __init__(self, parent: regions.Region) -> None:
        super().__init__(parent)
        self.postponed: list[PostponedUpdate] = []
        # The updates that `_seen` has the results of.
        self._num_seen = 0
        self._seen: dict[int, Any] = {}

    def get_current_value(self, variable: keras.Variable) -> Any:
        if any(id(variable) in update.variables for update in self.postponed):
            self._look()
            if id(variable) in self._seen:
                return self._seen[id(variable)]
        return super().get_current_value(variable)

    def add_update(self, update: tuple[keras.Variable, Any]) -> None:
        super().add_update(update)
        self._seen.pop(id(update[0]), None)

    def lift(self, variable: keras.Variable) -> Any:
        return self.parent.get_current_value(variable)

    def next_element(self, stream: object) -> Any:
        return self.parent.next_element(stream)

    def next_optional(self, stream: object) -> tuple[Any, Any]:
        return self.parent.next_optional(stream)

    def refuse_loop(self, stream: object) -> NoReturn:
        raise TracingError(
            "A compiled loop takes elements of an iterator in a step of a ParameterServerStrategy, which pulls "
            "variables before it and pushes behind it. Expected: a function that is scheduled once for each element; "
            "or a number of elements that is known while it is traced, `for _ in range(4): next(iterator)` with "
            f"Python's range. Received: iterator={shown(stream)}. Have the loop around `coordinator.schedule`."
        )

    def iterate(self, stream: object) -> Any:
        return self.parent.iterate(stream)

    def postpone(self, update: PostponedUpdate) -> None:
        self.postponed.append(update)

    def _look(self) -> None:
        """Compute what the updates so far give, without making them."""
        for update in self.postponed[self._num_seen :]:
            self._num_seen += 1
            with _Preview(self) as preview:
                update.make(update.arrays)
            self._seen |= dict(preview.results())


class _Preview(regions.Region):
    """A region whose assignments nobody takes over."""

    parent: PushingRegion

    def lift(self, variable: keras.Variable) -> Any:
        seen = self.parent._seen
        if id(variable) in seen:
            return seen[id(variable)]
        return regions.Region.get_current_value(self.parent, variable)

    def results(self) -> Iterator[tuple[int, Any]]:
        """Give the values that variables would have, by their ids."""
        for key, variable in self.writes.items():
            yield key, self.final_value(variable)
