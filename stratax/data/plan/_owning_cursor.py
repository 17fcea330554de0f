"""Cursors that hold files, threads or iterators of others (data layer)."""

import abc

from stratax.data.plan._run import PlanRun
from stratax.data.position import Cursor


class OwningCursor(Cursor):
    """A cursor that lets go of what it holds when it is closed, or at the latest with the iterator.

    Args:
        run: What the iterator shares; it calls :meth:`let_go`, so all that needs has to be there by now.
    """

    def __init__(self, run: PlanRun) -> None:
        self._run = run
        run.on_close(self.let_go)

    def close(self) -> None:
        """Release what the cursor holds, now."""
        self._run.forget(self.let_go)
        self.let_go()

    @abc.abstractmethod
    def let_go(self, wait: bool = True) -> None:
        """Close files, end threads.

        Args:
            wait: Whether to wait for threads to end.
        """
