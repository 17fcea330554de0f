"""What hangs on a loop of steps: hooks that are called at its joints (engine layer)."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from stratax import errors
from stratax.base.shown import shown
from stratax.base.typing import PyTree

if TYPE_CHECKING:
    from stratax.engine._running_loop import RunningLoop


class Hook:
    """Called at the joints of a `StepLoop`; a subclass overrides the methods that it needs.

    A method that is not overridden costs nothing. Between the steps of one dispatch no hook is called. All workers call
    their hooks at the same steps, so a hook may do what all have to do together, such as saving a checkpoint.
    """

    def begin(self, loop: "RunningLoop") -> None:
        """Act when the loop begins, before its input is opened; `loop.step` is the number of steps done."""

    def before_dispatch(self, loop: "RunningLoop", steps: int) -> None:
        """Act before a program that runs so many steps, the first of which is number `loop.step`."""

    def after_dispatch(self, loop: "RunningLoop", steps: int, outputs: PyTree) -> None:
        """Act after a program was handed to the devices; `loop.step` counts its steps already.

        Args:
            loop: The loop.
            steps: How many steps it ran.
            outputs: What the program returned. The devices may still be at work; reading a value waits for them.
        """

    def end_of_pass(self, loop: "RunningLoop") -> None:
        """Act when the input has come to the end of a pass."""

    def on_stop(self, loop: "RunningLoop") -> None:
        """Act when the loop ends because a worker has asked for it, in all workers, before :meth:`end`."""

    def on_error(self, loop: "RunningLoop", error: BaseException) -> None:
        """Act when an error ends the loop, instead of :meth:`end`. The error is raised again after that."""

    def end(self, loop: "RunningLoop") -> None:
        """Act when the loop has come to its end or was stopped."""


class EverySteps(Hook):
    """Calls a function at every so many steps: behind the dispatch that reaches or passes them.

    Args:
        steps: The distance in steps.
        function: Called with the loop and the outputs of the dispatch.

    Raises:
        BadArgumentError: If `steps` is less than 1.
    """

    def __init__(self, steps: int, function: "Callable[[RunningLoop, Any], None]") -> None:
        if steps < 1:
            raise errors.BadArgumentError(f"steps must be at least 1. Received: steps={shown(steps)}.")
        self._steps = steps
        self._function = function

    def after_dispatch(self, loop: "RunningLoop", steps: int, outputs: PyTree) -> None:
        # A dispatch may run several steps and pass over the very one.
        if loop.step // self._steps > (loop.step - steps) // self._steps:
            self._function(loop, outputs)


def find_overridden(hooks: Iterable[Hook], name: str) -> list[Callable[..., None]]:
    """Return the methods of this name of those hooks that have one of their own, in the order of the hooks."""
    default = getattr(Hook, name)
    # Looked up once, so that a joint without hooks costs one test of an empty list.
    return [getattr(hook, name) for hook in hooks if getattr(type(hook), name) is not default]
