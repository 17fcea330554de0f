"""Hooks that take the results of steps as the devices give them, without waiting (estimator layer)."""

import collections
import concurrent.futures
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from stratax.base.threads import Threads
from stratax.tensorflow.estimator.hooks import SessionRunHook

# So many dispatches' results wait for the function at most; then the training waits for it.
_MOST_WAITING = 8


class ResultsHook(SessionRunHook):
    """Calls a function on the host with what each step gave, on a thread of its own.

    Args:
        fetches: A structure of tensors of the `model_fn`.
        function: Called with the structure as NumPy arrays, once for each step, in order.
        every: At every how many steps.
    """

    def __init__(self, fetches: object, function: Callable[[Any], object], every: int = 1) -> None:
        self.fetches = fetches
        self._function = function
        self._every = every
        self._pool: Threads | None = None
        self._waiting: collections.deque[concurrent.futures.Future[None]] = collections.deque()

    def receive(self, first: int, steps: int, values: object) -> None:
        """Take the results of a dispatch.

        Args:
            first: The number of its first step.
            steps: How many steps it ran.
            values: The structure of fetches, each with a leading dimension that counts steps; still being computed.
        """
        wanted = [index for index in range(steps) if (first + index) % self._every == 0]
        if not wanted:
            return
        if self._pool is None:
            self._pool = Threads(1, "stratax host call")
        while self._waiting and (self._waiting[0].done() or len(self._waiting) >= _MOST_WAITING):
            # Raises what the function has raised.
            self._waiting.popleft().result()
        self._waiting.append(self._pool.submit(self._call, values, wanted))

    def finish(self) -> None:
        """Wait until all results are taken; raises what the function has raised."""
        try:
            while self._waiting:
                self._waiting.popleft().result()
        finally:
            if self._pool is not None:
                self._pool.shutdown(cancel_futures=True)
                self._pool = None

    def _call(self, values: object, wanted: list[int]) -> None:
        arrays = jax.tree.map(np.asarray, values)
        for index in wanted:
            self._function(jax.tree.map(lambda array: array[index], arrays))  # noqa: B023 - used at once
