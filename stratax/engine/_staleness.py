"""How stale gradients were since somebody has looked before (engine layer)."""

from typing import Protocol, cast

import numpy as np

from stratax.distribute import Strategy

# Of more steps so many are told, in proportion.
_MOST_STEPS = 10_000


class _Counting(Protocol):
    def staleness(self) -> dict[int, int]: ...


class NewStaleness:
    """Tells how stale the gradients of the steps were that came since it was asked before."""

    def __init__(self) -> None:
        self._before: dict[int, int] = {}

    def of(self, strategy: Strategy) -> np.ndarray:
        """Return a number for each step: how many others have changed variables between its pull and its push.

        Args:
            strategy: A strategy with parameter servers.
        """
        now = cast("_Counting", strategy).staleness()
        # Servers that were started anew count from zero.
        counts = {each: max(0, count - self._before.get(each, 0)) for each, count in now.items()}
        self._before = now
        total = sum(counts.values())
        if total > _MOST_STEPS:
            counts = {each: round(count * _MOST_STEPS / total) for each, count in counts.items()}
        return np.repeat(list(counts), list(counts.values()))
