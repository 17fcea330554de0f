"""One pass over the input, as the steps that programs run (engine layer)."""

from typing import Any

from stratax.core import OutOfRangeError
from stratax.distribute import DistributedIterator
from stratax.distribute.input import limit_ahead, take_for_program

# At a time, as this many are held in memory.
_STEPS_PASSED_OVER = 64


class StepIterator:
    """One pass over the input, in blocks of steps that one program runs.

    Args:
        iterator: The distributed iterator.

    Attributes:
        pending: How many steps :meth:`available` found.
        steps_taken: How many steps were taken, or passed over, since the pass began.
    """

    def __init__(self, iterator: DistributedIterator) -> None:
        self._iterator = iterator
        self.pending = 0
        self.steps_taken = 0

    def available(self, count: int) -> int:
        """Return how many of the next `count` steps one program can run: those of one shape. 0 at the end."""
        try:
            self.pending = self._iterator.peek_runs(0, count)[0][1]
        except OutOfRangeError:
            # Fewer than asked for are left: as many as have been read are all there are.
            left = self._iterator.steps_ready
            self.pending = self._iterator.peek_runs(0, left)[0][1] if left else 0
        return self.pending

    def take_pending(self) -> tuple[int, Any]:
        """Take the steps that :meth:`available` found: how many, and their batches (stacked if there are several)."""
        count = self.pending
        self.steps_taken += count
        if count == 1:
            return 1, take_for_program(self._iterator)
        # Without padding: a shorter block is a program of its own, for the last block of a pass.
        return count, self._iterator.take_block(count, count)

    def limit_ahead(self, steps: float) -> None:
        """Read no more than so many steps ahead; infinity for no limit."""
        limit_ahead(self._iterator, steps)

    def pass_over(self, steps: int) -> None:
        """Read steps and drop them; fewer at the end."""
        while steps > 0 and (count := self.available(min(steps, _STEPS_PASSED_OVER))):
            self._iterator.pass_over(count)
            self.steps_taken += count
            steps -= count

    def get_state(self) -> dict[str, Any]:
        """Return the position behind the steps that were taken; raise DataError where the input can't be put back."""
        return self._iterator.get_state()

    def set_state(self, state: dict[str, Any], steps_taken: int) -> None:
        """Go to a position, behind so many steps of the pass."""
        self._iterator.set_state(state)
        self.steps_taken = steps_taken

    @property
    def wait_seconds(self) -> float:
        """How long the program has waited for this pass's input, in seconds."""
        return self._iterator.input_wait_seconds

    def first_batch(self) -> Any:
        """Return the shapes and dtypes of the next global batch, as `jax.ShapeDtypeStruct`."""
        return self._iterator.global_structure()

    def close(self) -> None:
        """End the pass and let go of what reads its input ahead."""
        self._iterator.close()
