"""Randomness of functions given to `map`: fixed by the pipeline's seed and the element's position (data layer).

A function that draws random numbers gives the same for an element whenever it is made: in whatever thread or
process, before a restart or after it. The numbers are a function of (seed of the `map`, iteration, pass, position of
the element, how many draws came before).
"""

import math
import random
from collections.abc import Callable, Sequence
from contextvars import ContextVar, Token

import numpy as np

from stratax.data.elements._keyed import MAX_HASHED, generator, hashed, packed, packed_pair, uniform


class _Draws:
    """Counts the draws for one element."""

    __slots__ = ("_key", "_name", "_packed", "count")

    def __init__(self, name: Callable[[], Sequence[int]]) -> None:
        self._name = name
        self._key: Sequence[int] | None = None
        # Packed once for all draws of the element.
        self._packed: bytes | None = None
        self.count = 0

    def next(self, seed: int) -> Callable[[], Sequence[int]]:
        """Return what gives the key of the next draw; the element is named only then, as few functions draw."""
        self.count += 1
        number = self.count
        return lambda: (*self._named(), number, seed)

    def uniform(self, shape: tuple[int, ...], seed: int) -> np.ndarray:
        """Make the next draw, as `uniform` for its key; what names the element is packed once."""
        if math.prod(shape) > MAX_HASHED:
            return uniform(shape, self.next(seed)())
        self.count += 1
        if self._packed is None:
            self._packed = packed(self._named())
        return hashed(shape, self._packed + packed_pair(self.count, seed))

    def _named(self) -> Sequence[int]:
        if self._key is None:
            self._key = self._name()
        return self._key


# A context variable: threads of a pool make different elements at the same time.
_CURRENT: ContextVar[_Draws | None] = ContextVar("stratax_element", default=None)


class element_scope:
    """Within it, :func:`element_generator` gives what belongs to one element.

    Args:
        name: Gives integers that name the element: those of the order's key, then the element's position.
    """

    # A generator function as a context manager would take three times as long, for every element.
    __slots__ = ("_name", "_token")

    def __init__(self, name: Callable[[], Sequence[int]]) -> None:
        self._name = name

    def __enter__(self) -> None:
        self._token: Token[_Draws | None] = _CURRENT.set(_Draws(self._name))

    def __exit__(self, *exc_info: object) -> None:
        _CURRENT.reset(self._token)


def element_generator(seed: int | None = None) -> np.random.Generator:
    """Return a generator for the next draw of the element that is being made.

    Args:
        seed: Takes part in the key, so that equal functions with different seeds draw differently.

    Returns:
        Outside of a pipeline a generator fixed by `seed`, or by Python's `random` (which
        `keras.utils.set_random_seed` seeds) if there is none.
    """
    return generator(_next_key(seed))


def element_uniform(shape: tuple[int, ...], seed: int | None = None) -> np.ndarray:
    """Draw numbers from 0 up to but not 1: the next draw of the element that is being made.

    Args:
        shape: Their shape; for a few numbers this is much quicker than :func:`element_generator`.
        seed: As for :func:`element_generator`.

    Returns:
        float64.
    """
    draws = _CURRENT.get()
    if draws is None:
        return uniform(shape, _next_key(seed))
    return draws.uniform(shape, -1 if seed is None else seed)


def _next_key(seed: int | None) -> Sequence[int]:
    draws = _CURRENT.get()
    if draws is None:
        return (random.getrandbits(63) if seed is None else seed,)
    return draws.next(-1 if seed is None else seed)()


class SeedToDraw:
    """The seed of a plan that was given none, drawn when it is needed.

    Where a function of an element makes the plan, the seed belongs to that element; else it is a random one.
    """

    def __init__(self) -> None:
        draws = _CURRENT.get()
        # Counted when the plan is made, so that the function's later draws stay what they were.
        self._later = None if draws is None else draws.next(-1)

    def draw(self) -> int:
        """Draw the seed that was not given."""
        return (
            random.getrandbits(31) if self._later is None else int(generator(self._later()).integers(1 << 31))
        )

    def peek(self, number: int) -> int:
        """Return a seed without a trace in Python's `random`: what follows stays as if nobody had looked.

        Args:
            number: Tells apart what is looked at in one moment.
        """
        if self._later is not None:
            return self.draw()
        # A copy of Python's generator, whose own state must not move.
        copy = random.Random()
        copy.setstate(random.getstate())
        return (copy.getrandbits(31) + number) % (1 << 31)
