"""What reads the records of one file: the interface that every kind of record file implements (data layer)."""

import abc
from collections.abc import Mapping

import numpy as np

from stratax.errors import DataError


class Piece:
    """Some consecutive records of a file.

    Args:
        records: The records; what stands at the index of a failure is not given to anybody.
        ends: For each of them, the offset behind it, int64 [n].
        failures: What is wrong with a record, by its index.
        last: What is wrong behind the last record, if nothing after it can be read.
    """

    __slots__ = ("ends", "failures", "last", "records")

    def __init__(
        self,
        records: list[bytes],
        ends: np.ndarray,
        failures: Mapping[int, DataError] | None = None,
        last: DataError | None = None,
    ) -> None:
        self.records = records
        self.ends = ends
        self.failures = failures or {}
        self.last = last


class RecordStream(abc.ABC):
    """The records of one file, from front to back."""

    @abc.abstractmethod
    def read(self) -> Piece:
        """The next records, as many as are at hand; raises StopIteration at the end and behind a `last` failure."""

    @abc.abstractmethod
    def skip(self, count: int) -> int:
        """Passes over records without making them; gives how many, one for a failure that ends the file included."""

    @property
    @abc.abstractmethod
    def place(self) -> tuple[int, int]:
        """Offset and number of the next record that is neither read nor skipped."""

    @abc.abstractmethod
    def seek(self, offset: int, record: int) -> None:
        """Goes to a place; called on a stream that was not read."""

    @abc.abstractmethod
    def close(self) -> None:
        """Lets go of the file."""


class RecordFormat(abc.ABC):
    """How the records of a kind of file are read.

    Attributes:
        label: The kind of Dataset.
    """

    label: str

    @abc.abstractmethod
    def open(self, name: str) -> RecordStream:
        """The records of a file."""

    @abc.abstractmethod
    def describe(self) -> str:
        """What fixes the meaning of a record's number."""
