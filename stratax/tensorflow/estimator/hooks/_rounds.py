"""What one worker wants by its clock and all do behind the same step (estimator layer)."""

import itertools

from stratax import cluster

# All workers begin their hooks in the same order, so the numbers agree.
_numbers = itertools.count(1)


class AgreedRounds:
    """Says behind which steps all workers do something that the chief wants now.

    All workers ask behind the same steps. While the chief does not want it, a question costs no message. It stands for
    one thing after the other: each time it has said so, it begins anew.
    """

    def __init__(self) -> None:
        self._name = f"hook {next(_numbers)}"
        self._round = 0

    def comes_before(self, step: int, wanted: bool) -> bool:
        """Return whether all do it now.

        Args:
            step: The step that would come next, larger at every call.
            wanted: Whether this worker wants it; only the chief's wish counts.
        """
        connected = cluster.current()
        if connected is None:
            return wanted
        name = f"{self._name}, round {self._round}"
        if wanted and connected.is_chief:
            connected.request_stop(f"{self._name} is due", name=name)
        comes = connected.agree_on_stop(step, name=name)
        self._round += comes
        return comes
