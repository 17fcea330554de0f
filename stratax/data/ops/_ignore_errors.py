"""`ignore_errors`: a stream without the elements that can't be made (data layer)."""

import logging
from concurrent.futures import CancelledError

from stratax.data.elements import INFINITE_CARDINALITY, UNKNOWN_CARDINALITY, Block
from stratax.data.plan import Node, OverOne, PlanRun
from stratax.data.position import Cursor, CursorOver
from stratax.errors import WorkerError

_logger = logging.getLogger("stratax")


class IgnoreErrors(OverOne):
    """Its child's elements but for those that raise.

    Args:
        child: The node.
        log_warning: Whether each error is logged.
    """

    label = "IgnoreErrors"
    is_indexable = False

    def __init__(self, child: Node, *, log_warning: bool) -> None:
        super().__init__(child)
        self._log_warning = log_warning

    @property
    def length(self) -> int:
        """Not known, except of nothing; without an end where the child is."""
        length = self.child.length
        return length if length in (0, INFINITE_CARDINALITY) else UNKNOWN_CARDINALITY

    def stream(self, run: PlanRun, passes: int) -> Cursor:
        """Open a pass over the elements that can be made."""
        return IgnoreErrorsCursor(self.child.open(run, passes), run, log_warning=self._log_warning)


class IgnoreErrorsCursor(CursorOver):
    """Reads on where the child raises."""

    def __init__(self, child: Cursor, run: PlanRun, *, log_warning: bool) -> None:
        super().__init__(child)
        self._run = run
        self._log_warning = log_warning

    def read(self, limit: int) -> Block:
        """Read the next elements that can be made."""
        while True:
            try:
                return self._child.read(limit)
            except (StopIteration, CancelledError, WorkerError):
                # The end, or what no element is to blame for.
                raise
            except Exception as e:
                self._run.num_ignored += 1
                if self._log_warning:
                    notes = "".join(f"\n{note}" for note in getattr(e, "__notes__", ()))
                    _logger.warning("ignore_errors left out an element: %s: %s%s", type(e).__name__, e, notes)
