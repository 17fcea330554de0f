"""Memory through which worker processes hand back large arrays (data layer).

It has no name in any file system, so nothing can be left behind: the system frees it when no process holds it, however
the processes ended. A worker opens it by way of the process that it works for, which Linux allows; elsewhere, and where
it is forbidden, arrays go through pipes.
"""

import mmap
import os
import weakref
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

SMALLEST_BYTES = 1 << 14
_ALIGNMENT = 64


@dataclass(frozen=True, slots=True)
class Location:
    """Where memory can be opened by another process.

    Attributes:
        path: A file.
        size: Bytes.
        number: No other memory of the process has it.
    """

    path: str
    size: int
    number: int


@dataclass(frozen=True, slots=True)
class Stored:
    """An array in memory: all of it that goes through a pipe."""

    offset: int
    shape: tuple[int, ...]
    dtype: np.dtype

    def view(self, memory: mmap.mmap) -> np.ndarray:
        """Return the array, without a copy."""
        return np.ndarray(self.shape, self.dtype, memory, self.offset)


class WorkerMemory:
    """Memory of this process that one worker at a time writes to.

    Args:
        size: Bytes.
        number: See :class:`Location`.
    """

    def __init__(self, size: int, number: int) -> None:
        # A file without a name: the system frees it when the last process lets go, even after a crash.
        file = os.memfd_create("stratax")
        self._close = weakref.finalize(self, os.close, file)
        os.ftruncate(file, size)
        self._map = mmap.mmap(file, size)
        # A worker of the same user opens the file through this path; no descriptor has to be sent.
        self.location = Location(f"/proc/{os.getpid()}/fd/{file}", size, number)

    def fetch(self, leaves: Sequence[np.ndarray | Stored]) -> list[np.ndarray]:
        """Return copies of the arrays that are stored here; the others as they are."""
        # Copied, since the next task overwrites the memory while these arrays may still be in use.
        return [leaf.view(self._map).copy() if isinstance(leaf, Stored) else leaf for leaf in leaves]

    def close(self) -> None:
        """Give it back to the system, once the workers do, too."""
        self._map.close()
        self._close()


def can_share() -> bool:
    """Return whether the system has such memory."""
    return hasattr(os, "memfd_create")


# Mapped once per worker and memory: mapping costs more than writing a small batch.
_opened: dict[int, mmap.mmap | None] = {}


class Writer:
    """Stacks arrays in the memory of another process, one stack behind the other, as far as there is room."""

    def __init__(self, location: Location | None) -> None:
        self._map = None if location is None else _open(location)
        self._size = 0 if location is None else location.size
        self._offset = 0

    def stack(self, parts: Sequence[np.ndarray]) -> Stored | None:
        """Stack arrays of one shape and dtype on a new leading axis.

        Returns:
            Where they are; None if they are small, have Python objects, or there is no room.
        """
        dtype, size = parts[0].dtype, len(parts) * parts[0].nbytes
        # Small arrays go through the pipe faster; objects are pointers, without meaning in another process.
        if self._map is None or size < SMALLEST_BYTES or dtype.hasobject or self._offset + size > self._size:
            return None
        stored = Stored(self._offset, (len(parts), *parts[0].shape), dtype)
        np.stack(parts, out=stored.view(self._map))
        # Rounded up, so that every stack begins at a cache line.
        self._offset = -(-(self._offset + size) // _ALIGNMENT) * _ALIGNMENT
        return stored


def _open(location: Location) -> mmap.mmap | None:
    if location.number not in _opened:
        try:
            with open(location.path, "r+b") as file:
                _opened[location.number] = mmap.mmap(file.fileno(), location.size)
        except OSError:
            # The process may lack the right to open it: then everything goes through the pipe.
            _opened[location.number] = None
    return _opened[location.number]
