"""Programs that are traced for other devices than they run on, which need not be there (core layer)."""

import abc
import contextlib
from collections.abc import Iterator, Sequence

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from stratax.base.typing import PyTree


class Move(abc.ABC):
    """Has whoever divides the work of a program do so among other devices."""

    @abc.abstractmethod
    def to(self, devices: Sequence[jax.Device]) -> contextlib.AbstractContextManager[NamedSharding]:
        """Compute on other devices within a block, which is given the place of variables there.

        Args:
            devices: The other devices.
        """

    @abc.abstractmethod
    def element(self, structure: PyTree) -> PyTree:
        """Return the types of an element of an input with shardings, on the devices that the program runs on.

        Args:
            structure: Its types.
        """


class MoveOfOne(Move):
    """Moves a program that nobody divides: it runs on one device."""

    @contextlib.contextmanager
    def to(self, devices: Sequence[jax.Device]) -> Iterator[NamedSharding]:
        """Give the first device."""
        yield NamedSharding(Mesh(np.array(devices[:1]), ("replica",)), PartitionSpec())

    def element(self, structure: PyTree) -> PyTree:
        """Return its types as they are."""
        return structure
