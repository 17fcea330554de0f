"""Where operations with a seed of their own draw from (ops layer).

TensorFlow's operation with a seed gives the next numbers of a sequence in each call. Outside of compiled functions they
are TensorFlow's own numbers (`_philox`): in a pipeline those that belong to the position of the element, so that it
gets the same in whatever thread, and after a restart.
"""

import threading
from collections.abc import Hashable
from typing import Any

import numpy as np

from stratax.base.tracing import is_tracing
from stratax.base.typing import TensorLike
from stratax.core.state import generator_of, reset
from stratax.data.elements import element_turn
from stratax.data.vectorise import in_pipeline
from stratax.errors import TracingError
from stratax.tensorflow.ops.random import _philox


class _Drawn:
    """How far operations with a seed have come, outside of functions and pipelines."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.seed: int | None = None
        self.counters: dict[Hashable, int] = {}


_drawn = _Drawn()


def set_program_seed(seed: int, *, is_known: bool) -> None:
    """Have all operations begin anew, with a seed of the program that the user knows, or one that was drawn."""
    with _drawn.lock:
        _drawn.seed = seed if is_known else None
        _drawn.counters.clear()
    # Also the generator that functions without a seed share; compiled programs hold its state.
    reset(seed)


def seeds_for(seed: int) -> _philox.Seeds:
    """Return TensorFlow's two seeds of an operation with a seed of its own, which begins anew in each call."""
    return _philox.seeds_of(_drawn.seed, seed)


def place_of(operation: Hashable, seed: Any, count: int) -> tuple[_philox.Seeds, int] | None:
    """Return the seeds and the counter that a call draws from; None if a generator of a device has to draw.

    Args:
        operation: What shares a sequence: the kind of the operation with its dtype.
        seed: The seed that the call was given.
        count: How many counters it takes.
    """
    if not _is_number(seed) or is_tracing():
        _check_traced(seed)
        return None
    seeds = _philox.seeds_of(_drawn.seed, int(seed))
    # In a pipeline the place of an element decides on its numbers, and not which thread comes first.
    turn = element_turn() if in_pipeline() else None
    if turn is not None:
        return seeds, turn.start(count)
    with _drawn.lock:
        start = _drawn.counters.get((operation, seeds), 0)
        _drawn.counters[operation, seeds] = start + count
    return seeds, start


def source_of(seed: Any) -> Any:
    """Return what `keras.random` draws from, as `generator_of`; for an element of a pipeline a number of its own."""
    _check_traced(seed)
    turn = element_turn() if in_pipeline() and _is_number(seed) else None
    if turn is None:
        return generator_of(seed)
    seeds = _philox.seeds_of(_drawn.seed, int(seed))
    # Keras' generators take one number: mixed of all that says which element it is.
    (word,) = np.random.SeedSequence([*seeds, turn.group, turn.position]).generate_state(1)
    # Keras' seeds are signed numbers of 32 bits.
    return int(word) >> 1


def _is_number(seed: TensorLike | None) -> bool:
    return isinstance(seed, int | np.integer) and not isinstance(seed, bool)


def _check_traced(seed: TensorLike | None) -> None:
    """Refuse to make the numbers of one element those of a compiled function: it runs in Python in a pipeline then.

    Raises:
        TracingError: A function that a pipeline calls is being traced.
    """
    if in_pipeline() and is_tracing() and _is_number(seed):
        raise TracingError(
            "An operation with a seed gives each element of a dataset other numbers, so that it can't be part "
            f"of a compiled function that a dataset calls. Received: seed={seed}. Leave tf.function away."
        )
