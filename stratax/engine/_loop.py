"""The loop of steps: K steps per dispatch to an exact end, hooks, a common stop, resumption (engine layer)."""

import contextlib
import logging
from collections.abc import Callable, Generator, Iterable
from typing import Any

from stratax import errors
from stratax.base.shown import shown
from stratax.distribute import Strategy
from stratax.engine._hooks import Hook, find_overridden
from stratax.engine._input import StepInput
from stratax.engine._passes import StepIterator
from stratax.engine._resumption import InputPosition, Resumption
from stratax.engine._stop import CommonStop

_STATE_VERSION = 1
_logger = logging.getLogger("stratax")


def blocks(
    steps: StepIterator, *, done: int = 0, total: int | None = None, at_most: int = 1
) -> Generator[tuple[int, int, StepIterator], None, bool]:
    """Cut a pass into blocks of steps, each of which one program can run.

    The block that was yielded is what `steps.take_pending()` takes; it has to be taken before the next one. How long a
    block is depends on step numbers and on shapes that all workers have agreed on, so it is the same in all of them.

    Args:
        steps: The pass.
        done: The number of the first step.
        total: The number of the step to end before; None for the end of the pass.
        at_most: How many steps a program runs at most.

    Yields:
        The numbers of the block's first and last step, and the pass.

    Returns:
        Whether the pass has come to its end before `total`.
    """
    while total is None or done < total:
        # Never beyond `total`: the last block is shortened to end exactly there.
        count = steps.available(at_most if total is None else min(at_most, total - done))
        if not count:
            return True
        yield done, done + count - 1, steps
        done += count
    return False


class StepLoop:
    """Runs a program of steps over its input, several steps per dispatch.

    What stands between two dispatches of training, evaluation or prediction: the global step, hooks, the stop that all
    workers carry out together, and the position to go on from. A checkpoint can hold it: it saves the global step and
    the position in the input.

    Args:
        strategy: The strategy.
        program: Runs steps: called with how many, and their batches as `StepIterator.take_pending` gives them.
        steps_per_dispatch: How many steps one dispatch runs; the last one is shortened.
        hooks: What is called at the joints, in this order.
        phase: What this worker's heartbeats say that it does, ``"evaluating"`` for instance, for which the others wait
            longer than for a step; None for steps.
        count: Gives the global step behind a dispatch, of what it would be if nobody else counted: others may train
            the same variables. None where nobody else does.

    Attributes:
        step: The global step: how many steps were handed to the devices, in this run and those that it resumes.
        passes: How many passes over the input have come to their end.
        was_stopped: Whether the last run ended because a worker asked for it.
    """

    def __init__(
        self,
        strategy: Strategy,
        program: Callable[[int, Any], Any],
        *,
        steps_per_dispatch: int = 1,
        hooks: Iterable[Hook] = (),
        phase: str | None = None,
        count: Callable[[int], int] | None = None,
    ) -> None:
        if steps_per_dispatch < 1:
            raise errors.BadArgumentError(
                f"steps_per_dispatch must be at least 1. Received: steps_per_dispatch={shown(steps_per_dispatch)}."
            )
        self.strategy = strategy
        self.program = program
        self.step = 0
        self.passes = 0
        self.was_stopped = False
        self._steps_per_dispatch = steps_per_dispatch
        self._hooks = list(hooks)
        # Once: hooks are asked for at every dispatch.
        self._before = find_overridden(self._hooks, "before_dispatch")
        self._after = find_overridden(self._hooks, "after_dispatch")
        self._phase = phase
        self._count = count
        self._stop: CommonStop | None = None
        self._input: StepInput | None = None
        self._position: InputPosition | None = None
        self._current: StepIterator | None = None
        self._resume_at: dict[str, Any] | None = None

    def dispatch(self, steps: StepIterator) -> Any:
        """Run the block of steps that :func:`blocks` has found, with the hooks around it.

        Args:
            steps: The pass.

        Returns:
            What the program returned.
        """
        if self._before:
            for call in self._before:
                call(self, steps.pending)
        # Behind the hooks: a checkpoint that one of them saves has the position before these steps.
        count, element = steps.take_pending()
        outputs = self.program(count, element)
        self.step += count
        if self._count is not None:
            self.step = self._count(self.step)
        if self._after:
            for call in self._after:
                call(self, count, outputs)
        return outputs

    def run(self, steps: StepInput, *, until: int | None = None, passes: int | None = 1) -> Any:
        """Run steps until the global step, the number of passes or a stop ends it.

        With the input of the run before, it goes on in the pass that was left.

        Args:
            steps: The input, which the caller closes.
            until: The global step to end at, exactly where nobody else counts; None for no limit.
            passes: How many passes to end after, counted as :attr:`passes`; None for no limit.

        Returns:
            What the last dispatch returned; None where no step was run.

        Raises:
            DataError: If a pass has no steps.
        """
        # One for each run, made by all workers at the same place.
        self._stop = CommonStop(self.strategy)
        phase = (
            contextlib.nullcontext()
            if self._phase is None
            else self.strategy.extended.membership.phase(self._phase)
        )
        try:
            with phase:
                self._call("begin")
                self._enter(steps)
                outputs = self._drive(steps, self._stop, until, passes)
                if self.was_stopped:
                    self._call("on_stop")
                self._call("end")
                return outputs
        except BaseException as error:
            # Also of Ctrl-C: hooks may have files to close.
            self._tell_of(error)
            raise
        finally:
            self._stop = None

    def request_stop(self) -> None:
        """Ask all workers to end the loop, a few steps later at most; does nothing where it is not running."""
        if self._stop is not None:
            self._stop.request()

    def get_state(self) -> dict[str, Any]:
        """Return the global step and this worker's position in the input, as JSON can hold it.

        Raises:
            DataError: The input's position can't be saved.
        """
        within = self._current is not None
        position = None if self._position is None else self._position.get_state(within_pass=within)
        return {
            "version": _STATE_VERSION,
            "step": self.step,
            "passes": self.passes,
            "input": position if self._resume_at is None else self._resume_at,
        }

    def set_state(self, state: dict[str, Any]) -> None:
        """Go on from a saved state: the next :meth:`run` takes the batch after the last one that was used.

        Args:
            state: What :meth:`get_state` returned.

        Raises:
            DataError: It is no such state.
        """
        if not isinstance(state, dict) or state.get("version") != _STATE_VERSION:
            raise errors.DataError(
                f"A state of a loop of steps has the version {_STATE_VERSION}. Received: state={shown(state)}. Pass "
                "what get_state() returned."
            )
        self.step, self.passes, self._resume_at = state["step"], state["passes"], state["input"]
        self._current = None

    def _enter(self, steps: StepInput) -> None:
        """Find the pass to go on with; None where the next one has to be opened."""
        if steps is not self._input:
            self._input, self._position, self._current = steps, InputPosition(steps), None
            # The order of input whose passes have no numbers comes from the global generators.
            steps.notes_random = True
        position, self._resume_at = self._resume_at, None
        if position is None:
            return
        done = position["steps"]
        steps.resume(Resumption(position=position, epoch=0, steps=done, logs={}, restore=_nothing))
        self._current, _ = steps.begin_epoch(None)

    def _drive(self, steps: StepInput, stop: CommonStop, until: int | None, passes: int | None) -> Any:
        outputs = None
        # A stop may have been asked for before the first step.
        self.was_stopped = stop.comes_before(self.step)
        while not self.was_stopped and not self._is_done(until, passes):
            if self._current is None:
                self._current, _ = steps.begin_epoch(None)
            current = self._current
            for _ in blocks(current, done=self.step, total=until, at_most=self._steps_per_dispatch):
                outputs = self.dispatch(current)
                # Asked behind every dispatch, in all workers: they stop before the same step.
                if stop.comes_before(self.step):
                    self.was_stopped = True
                    break
                if until is not None and self.step >= until:
                    break
            else:
                # No stop has broken off the blocks: the pass is over, unless the last step was reached first.
                if until is None or self.step < until:
                    self._end_pass(steps, current)
                    # All workers are at the end of the pass, so a wish is met here and not a step later.
                    self.was_stopped = not self._is_done(until, passes) and stop.is_due()
        return outputs

    def _end_pass(self, steps: StepInput, current: StepIterator) -> None:
        if not current.steps_taken:
            raise errors.DataError(
                f"A pass over the input has no batches. Expected: at least one. Received: {shown(steps.dataset)}."
            )
        self.passes += 1
        # Opened by the next run, at the position.
        self._current = None
        self._call("end_of_pass")

    def _is_done(self, until: int | None, passes: int | None) -> bool:
        return (until is not None and self.step >= until) or (passes is not None and self.passes >= passes)

    def _call(self, name: str) -> None:
        for call in find_overridden(self._hooks, name):
            call(self)

    def _tell_of(self, error: BaseException) -> None:
        for call in find_overridden(self._hooks, "on_error"):
            try:
                call(self, error)
            except Exception:
                # The first error is the one that the program has to learn of.
                _logger.exception("A hook failed in on_error.")


def _nothing() -> None:
    """Restore nothing: beginning a pass has changed nothing."""
