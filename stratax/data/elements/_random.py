"""Randomness of functions given to `map`: fixed by the pipeline's seed and the element's position (data layer).

A function that draws random numbers gives the same for an element whenever it is made: in whatever thread or
process, before a restart or after it. The numbers are a function of (seed of the `map`, iteration, pass, position of
the element, how many draws came before).
"""

import dataclasses
import math
import random
from collections.abc import Callable, Sequence

import numpy as np

from stratax.base.surroundings import Slot
from stratax.data.elements._keyed import MAX_HASHED, generator, hash_key, pack_key, pack_pair, uniform

# Odd, so that no number is lost, and they spread small ones over all bits: those of passes, and those of elements.
_MIX = 0x9E3779B97F4A7C15
_MIX_INNER = 0xC2B2AE3D27D4EB4F
_MASK = (1 << 62) - 1


@dataclasses.dataclass(frozen=True, slots=True)
class Turn:
    """Where an element comes in what a function is called for.

    Attributes:
        group: Tells apart passes, and the plans that a function makes of elements: 0 of a plan's first pass.
        position: How many elements of the group come before it.
    """

    group: int
    position: int

    def start(self, count: int) -> int:
        """Return the first of `count` numbers that are this element's alone."""
        return (self.group + self.position * count) & _MASK

    def within(self) -> int:
        """Return what tells apart the plans that are made of this element."""
        return ((self.group + self.position + 1) * _MIX_INNER) & _MASK


class ElementName(tuple[int, ...]):
    """What names an element to a random function: the order in a pass, and its position in the whole.

    Attributes:
        turn: Where it comes.
    """

    turn: Turn

    @classmethod
    def of(cls, key: Sequence[int], number: int, position: int, outer: int) -> "ElementName":
        """Make the name of an element.

        Args:
            key: The key of the order.
            number: The number of the pass.
            position: The position of the element.
            outer: What :meth:`Turn.within` gives of the element that the plan was made of; 0 if of none.
        """
        name = cls((*key, position))
        name.turn = Turn((outer + number * _MIX) & _MASK, position)
        return name


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
        return lambda: (*self._find_key(), number, seed)

    def uniform(self, shape: tuple[int, ...], seed: int) -> np.ndarray:
        """Make the next draw, as `uniform` for its key; what names the element is packed once."""
        if math.prod(shape) > MAX_HASHED:
            return uniform(shape, self.next(seed)())
        self.count += 1
        if self._packed is None:
            self._packed = pack_key(self._find_key())
        return hash_key(shape, self._packed + pack_pair(self.count, seed))

    def turn(self) -> "Turn":
        """Return the pass and the position of the element that is being made."""
        name = self._find_key()
        return name.turn if isinstance(name, ElementName) else Turn(0, 0)

    def _find_key(self) -> Sequence[int]:
        if self._key is None:
            self._key = self._name()
        return self._key


_CURRENT: Slot[_Draws | None] = Slot("element", None)


class element_scope:
    """Within it, :func:`element_generator` gives what belongs to one element.

    Args:
        name: Gives integers that name the element: those of the order's key, then the element's position.
    """

    # A generator function as a context manager would take three times as long, for every element.
    __slots__ = ("_before", "_name")

    def __init__(self, name: Callable[[], Sequence[int]]) -> None:
        self._name = name

    def __enter__(self) -> None:
        self._before = _CURRENT.get()
        _CURRENT.set(_Draws(self._name))

    def __exit__(self, *exc_info: object) -> None:
        _CURRENT.set(self._before)


def element_turn() -> Turn | None:
    """Return the pass and the position of the element that is being made; None outside of a function of elements."""
    draws = _CURRENT.get()
    return None if draws is None else draws.turn()


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

    Attributes:
        outer: Tells that element apart; 0 if there is none.
    """

    def __init__(self) -> None:
        draws = _CURRENT.get()
        self.outer = 0 if draws is None else draws.turn().within()
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
