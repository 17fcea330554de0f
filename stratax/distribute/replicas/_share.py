"""Which of a strategy's replicas belong to a process (distribute layer)."""

import dataclasses


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Share:
    """Which of a strategy's replicas are this process's; every process has as many.

    Attributes:
        processes: How many processes there are.
        index: The number of this one.
    """

    processes: int = 1
    index: int = 0

    def of(self, count: int) -> slice:
        """Return which of `count` things, as many for every process, are this one's."""
        each = count // self.processes
        return slice(self.index * each, (self.index + 1) * each)
