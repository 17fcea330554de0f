"""The generator that random functions draw from on a device where no seed is given (core layer)."""

import random
import threading
from collections.abc import Callable

import keras
import numpy as np

from stratax.base.surroundings import Slot, Surroundings
from stratax.base.tracing import is_tracing
from stratax.core import regions
from stratax.seams.keras import without_distribution

_MAX_SEED = 2**31 - 1
_ODD = 1_000_003


class _Default:
    """Holds the one generator, and the seed that it starts from."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._generator: keras.random.SeedGenerator | None = None
        self._seed: int | None = None
        # Of operations with a seed of their own, by that.
        self._numbered: dict[int, keras.random.SeedGenerator] = {}

    def number_seed(self, seed: int) -> keras.random.SeedGenerator:
        # A program keeps the generator that it was traced with; each of its runs goes on where the last one ended.
        if is_tracing():
            return make_generator(self._mix(seed))
        with self._lock:
            if seed not in self._numbered:
                self._numbered[seed] = make_generator(self._mix(seed))
            return self._numbered[seed]

    def _mix(self, seed: int) -> int:
        # Two seeds give one, as the program's seed has a part in what TensorFlow's operations draw.
        return seed % _MAX_SEED if self._seed is None else (self._seed * _ODD + seed) % _MAX_SEED

    def generator(self) -> keras.random.SeedGenerator:
        # Two threads must not get two generators.
        with self._lock:
            if self._generator is None:
                seed = random.randint(1, _MAX_SEED) if self._seed is None else self._seed
                self._generator = make_generator(seed)
            return self._generator

    def replace(self, generator: keras.random.SeedGenerator) -> None:
        with self._lock:
            self._generator = generator

    def reset(self, seed: int) -> None:
        with self._lock:
            self._seed = seed % _MAX_SEED
            self._numbered.clear()
            if self._generator is not None:
                # The generator stays the same object, since compiled programs hold its variable.
                self._generator.state.assign([self._seed, 0])


def make_generator(seed: int) -> keras.random.SeedGenerator:
    """Make a generator that belongs to no strategy, whatever scope or program is entered."""
    # Not in a scope or strategy that happens to be active: all later programs share it.
    with _IS_MADE_NOW.holding(True), without_distribution(), regions.outside_scopes():
        return keras.random.SeedGenerator(seed)


_IS_MADE_NOW: Slot[bool] = Slot("making the default generator", False)
# Gives the generator of the model whose function runs.
_OF_MODEL: Slot[Callable[[], keras.random.SeedGenerator] | None] = Slot("generator of the model", None)


def is_made_now() -> bool:
    """Return whether this thread is making the default generator, whose state belongs to no strategy."""
    return _IS_MADE_NOW.get()


_default = _Default()


def generator_of(seed: int | keras.random.SeedGenerator | None) -> int | keras.random.SeedGenerator:
    """Return what `keras.random` is to draw from: for None the default generator, or that of a model.

    A number has a generator of its own, which goes on from call to call: of the operation in a compiled function, else
    of all operations with that number since the program's seed was set.

    Keras' own default generator refuses to be used in compiled programs. The state of this one is a variable, which
    they capture.
    """
    if isinstance(seed, int | np.integer):
        return _default.number_seed(int(seed))
    if seed is not None:
        return seed
    of_model = _OF_MODEL.get()
    return _default.generator() if of_model is None else of_model()


def drawing_from(generator: Callable[[], keras.random.SeedGenerator]) -> Surroundings:
    """Have functions without a seed draw from a model's own generator in a block, in this thread.

    Args:
        generator: Returns it.
    """
    return _OF_MODEL.holding(generator)


def reset(seed: int) -> None:
    """Start the sequence of `seed`, also for functions that are compiled already."""
    _default.reset(seed)


def replace(generator: keras.random.SeedGenerator) -> None:
    """Have functions without a seed draw from another generator from now on."""
    _default.replace(generator)
