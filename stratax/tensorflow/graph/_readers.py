"""Readers of files whose names come from a queue: `tf.TextLineReader`, `tf.TFRecordReader` (graph layer)."""

import abc
from collections.abc import Iterator
from typing import Any

import numpy as np

from stratax.base.typing import PyTree
from stratax.data import FixedLengthRecordDataset, TextLineDataset, TFRecordDataset
from stratax.data.elements import DType, TensorShape
from stratax.errors import OutOfRangeError
from stratax.io import read_file
from stratax.tensorflow.graph._graph import enter_program_graph
from stratax.tensorflow.graph._queues import QueueBase

Record = tuple[bytes, bytes]
# What a record has before its content, and behind it.
_FRAME = 16


class ReaderBase(abc.ABC):
    """Reads records of files, as `tf.ReaderBase`: base class.

    Args:
        name: Its name.
    """

    def __init__(self, name: str) -> None:
        self._building = enter_program_graph().scope.building
        self.name = self._building.unique_name(name)

    @abc.abstractmethod
    def records(self, file: str) -> Iterator[Record]:
        """Return the records of a file, with their keys."""

    def read(self, queue: QueueBase, name: str | None = None) -> tuple[Any, Any]:
        """Return the next record's key and value, which a session reads in each run that needs one of them.

        Args:
            queue: Where names of files are taken from.
            name: The operation's name.
        """
        return self._give(queue, name or f"{self.name}_Read", None)

    def read_up_to(self, queue: QueueBase, num_records: int, name: str | None = None) -> tuple[Any, Any]:
        """Return the next records' keys and values.

        Args:
            queue: Where names of files are taken from.
            num_records: How many at most.
            name: The operation's name.
        """
        return self._give(queue, name or f"{self.name}_ReadUpTo", int(num_records))

    def _give(self, queue: QueueBase, name: str, count: int | None) -> tuple[Any, Any]:
        def take(session: Any, feed: object) -> list[np.ndarray]:
            if count is None:
                return [np.array(each, object) for each in self._next(queue, session)]
            found: list[Record] = []
            while len(found) < count:
                try:
                    found.append(self._next(queue, session))
                except OutOfRangeError:
                    if not found:
                        raise
                    break
            return [np.array(column, object) for column in zip(*found, strict=True)]

        shape = TensorShape([] if count is None else [None])
        key, value = self._building.add_source(
            [(shape, DType("string"))] * 2, name, "ReaderRead", source=take
        )
        return key, value

    def _next(self, queue: QueueBase, session: Any) -> Record:
        """Read the next record, of the next file where one has ended."""
        opened, count = session.resources.get(self, (iter(()), 0))
        while (record := next(opened, None)) is None:
            ((name,),) = queue.take(session, 1)
            opened = self.records(np.asarray(name, object).item().decode())
        session.resources[self] = opened, count + 1
        return record  # type: ignore[no-any-return]

    def num_records_produced(self, name: str | None = None) -> Any:
        """Return how many records it has read, as a tensor."""
        (made,) = self._building.add_source(
            [(TensorShape([]), DType("int64"))],
            name or f"{self.name}_NumRecordsProduced",
            "ReaderNumRecordsProduced",
            source=lambda session, feed: [np.array(session.resources.get(self, ((), 0))[1])],
        )
        return made


def _number(dataset: PyTree, file: str, first: int = 0) -> Iterator[Record]:
    for number, each in enumerate(dataset, first):
        yield f"{file}:{number}".encode(), np.asarray(each, object).item()


class TextLineReader(ReaderBase):
    """Reads the lines of files, as `tf.TextLineReader`.

    Args:
        skip_header_lines: How many lines of each file are passed over.
        name: Its name.
    """

    def __init__(self, skip_header_lines: int | None = None, name: str = "TextLineReader") -> None:
        super().__init__(name)
        self._skipped = skip_header_lines or 0

    def records(self, file: str) -> Iterator[Record]:
        return _number(TextLineDataset(file).skip(self._skipped), file, self._skipped + 1)


class TFRecordReader(ReaderBase):
    """Reads the records of TFRecord files, as `tf.TFRecordReader`.

    Args:
        name: Its name.
        options: A `TFRecordOptions`, which says how they are compressed, or None.
    """

    def __init__(self, name: str = "TFRecordReader", options: Any = None) -> None:
        super().__init__(name)
        self._compression = getattr(options, "compression_type", None) or options or ""

    def records(self, file: str) -> Iterator[Record]:
        place = 0
        for each in TFRecordDataset(file, self._compression):
            record = np.asarray(each, object).item()
            yield f"{file}:{place}".encode(), record
            place += len(record) + _FRAME


class FixedLengthRecordReader(ReaderBase):
    """Reads records of so many bytes, as `tf.FixedLengthRecordReader`.

    Args:
        record_bytes: How many bytes a record has.
        header_bytes: How many stand before the first.
        footer_bytes: How many stand behind the last.
        hop_bytes: Must be 0: records stand one behind the other.
        name: Its name.
        encoding: The compression: `""` or `"ZLIB"`.
    """

    def __init__(
        self,
        record_bytes: int,
        header_bytes: int | None = None,
        footer_bytes: int | None = None,
        hop_bytes: int | None = None,
        name: str = "FixedLengthRecordReader",
        encoding: str | None = None,
    ) -> None:
        super().__init__(name)
        self._given = int(record_bytes), header_bytes or 0, footer_bytes or 0
        self._encoding = encoding or ""

    def records(self, file: str) -> Iterator[Record]:
        size, header, footer = self._given
        dataset = FixedLengthRecordDataset(file, size, header, footer, compression_type=self._encoding)
        return _number(dataset, file)


class WholeFileReader(ReaderBase):
    """Reads files whole: their names, and what is in them, as `tf.WholeFileReader`.

    Args:
        name: Its name.
    """

    def __init__(self, name: str = "WholeFileReader") -> None:
        super().__init__(name)

    def records(self, file: str) -> Iterator[Record]:
        yield file.encode(), read_file(file)


class IdentityReader(ReaderBase):
    """Gives what the queue has, as key and as value, as `tf.IdentityReader`.

    Args:
        name: Its name.
    """

    def __init__(self, name: str = "IdentityReader") -> None:
        super().__init__(name)

    def records(self, file: str) -> Iterator[Record]:
        yield file.encode(), file.encode()
