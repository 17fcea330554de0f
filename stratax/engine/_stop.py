"""When one worker wants to end a loop of steps, all end it before the same step (engine layer)."""

from stratax.distribute import Strategy


class CommonStop:
    """The stop of one loop of steps, which every worker may ask for and all carry out together.

    All workers make one at the same place and ask it before the same steps. While nobody wants to stop, a question
    costs no message. With one worker it is a flag.

    Args:
        strategy: The strategy whose workers run the loop.
    """

    def __init__(self, strategy: Strategy) -> None:
        # Its name is counted, so all workers have to make their stops in the same order.
        self._loop = strategy.extended.membership.loop()
        self._is_requested = False

    def request(self) -> None:
        """Note that this worker wants to stop; the others learn of it when it asks for the next step."""
        self._is_requested = True

    def comes_before(self, step: int) -> bool:
        """Return whether to stop before a step.

        Args:
            step: The step's number, which is larger at every call.

        Returns:
            True from the first step on that no worker had begun when one of them wanted to stop.
        """
        return self._loop.ends_before(step, self._is_requested)

    def is_due(self) -> bool:
        """Return whether any worker wants to stop; all call it at the same place and wait for one another."""
        return self._loop.ends_now(self._is_requested)
