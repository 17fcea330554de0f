"""Randomness of functions given to `map`: fixed by the pipeline's seed and the element's place (data layer).

A function that draws random numbers gives the same for an element whenever it is made: in whatever thread or process,
before a restart or after it. The numbers are a function of (seed of the `map`, iteration, pass, position of the element,
how many draws came before).
"""

import contextlib
import random
from collections.abc import Iterator, Sequence
from contextvars import ContextVar

import numpy as np

from stratax.data._permutation import generator


class _Draws:
    """Counts the draws for one element."""

    __slots__ = ("count", "key")

    def __init__(self, key: Sequence[int]) -> None:
        self.key = key
        self.count = 0


_CURRENT: ContextVar[_Draws | None] = ContextVar("stratax_element", default=None)


@contextlib.contextmanager
def element_scope(key: Sequence[int]) -> Iterator[None]:
    """Within it, :func:`element_generator` gives what belongs to one element.

    Args:
        key: Integers that name the element: those of the order's key, then the element's position.
    """
    token = _CURRENT.set(_Draws(key))
    try:
        yield
    finally:
        _CURRENT.reset(token)


def element_generator(seed: int | None = None) -> np.random.Generator:
    """A generator for the next draw of the element that is being made.

    Args:
        seed: Takes part in the key, so that equal functions with different seeds draw differently.

    Returns:
        Outside of a pipeline a generator fixed by `seed`, or by Python's `random` (which
        `keras.utils.set_random_seed` seeds) if there is none.
    """
    draws = _CURRENT.get()
    if draws is None:
        return generator((random.getrandbits(63) if seed is None else seed,))
    draws.count += 1
    return generator((*draws.key, draws.count, -1 if seed is None else seed))
