"""Loops of steps that all workers run together, and end together (distribute layer)."""

from stratax.cluster import Cluster
from stratax.distribute import _progress


class LoopAlone:
    """A loop of steps of one process, which decides alone."""

    # Whether other workers run the loop too.
    is_shared = False

    def ends_before(self, step: int, wanted: bool) -> bool:
        """Return whether to end before a step; called before each.

        Args:
            step: The number of the step, counted from the loop's beginning.
            wanted: Whether this worker wants to end.
        """
        return wanted

    def ends_now(self, wanted: bool) -> bool:
        """Return whether any worker wants to end; all call it at the same point and wait for one another.

        Args:
            wanted: Whether this worker does.
        """
        return wanted


class SharedLoop(LoopAlone):
    """A loop that several workers run. What one wants is agreed on; while none wants to end, a step costs nothing.

    Args:
        cluster: The workers.
        name: The loop's name, the same in all of them and never used before.
    """

    is_shared = True

    def __init__(self, cluster: Cluster, name: str) -> None:
        self._cluster = cluster
        self._name = name
        self._has_asked = False

    def ends_before(self, step: int, wanted: bool) -> bool:
        """Return whether to end before a step: a few steps after the first worker wanted it, the same one in all."""
        # Once: asking again changes nothing and costs a message.
        if wanted and not self._has_asked:
            self._has_asked = True
            self._cluster.request_stop(f"{self._cluster.task_name()} ends the loop", name=self._name)
        return self._cluster.agree_on_stop(step, name=self._name)

    def ends_now(self, wanted: bool) -> bool:
        """Return whether any worker wants to end."""
        return any(_progress.gather(self._cluster, self._name, "the end of a loop", b"1" if wanted else b""))
