"""Who is notified of the programs that are run, so that other processes can see how far this one is (core layer)."""

import abc
import contextlib
from typing import Any

import jax
import numpy as np


class Observer(abc.ABC):
    """Is notified of each program over the devices of several processes."""

    @abc.abstractmethod
    def compiling(self) -> contextlib.AbstractContextManager[Any]:
        """Return a block in which a function is traced or its program is compiled."""

    @abc.abstractmethod
    def dispatching(self) -> contextlib.AbstractContextManager[Any]:
        """Return a block in which a compiled program is handed to the devices."""

    @abc.abstractmethod
    def read_together(self, array: jax.Array) -> np.ndarray:
        """Return the value of an array of which other processes have parts: all of them read it now."""

    @abc.abstractmethod
    def note_dispatched(self, result: object) -> None:
        """Take one of a program's arrays, which is ready when the program has run."""


_observers: list[Observer] = []


def observe(observer: Observer) -> None:
    """Have `observer` notified of the programs of this process from now on, instead of the one before."""
    _observers[:] = [observer]


def observer() -> Observer | None:
    """Return who is notified of dispatches."""
    return _observers[0] if _observers else None
