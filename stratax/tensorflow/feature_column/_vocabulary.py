"""Vocabularies: from strings or whole numbers to their places in a list (feature_column layer)."""

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from stratax import errors
from stratax.base.shown import shown
from stratax.data import tf_record_iterator
from stratax.io import gfile
from stratax.tensorflow.ops.text.fingerprints import Fingerprints, hash_buckets

_RECORDS = "tfrecord_gzip"


class Vocabulary:
    """A table from entries to ids.

    Args:
        entries: Strings or whole numbers.
        default: The id of others.
        num_oov_buckets: How many ids behind the last are for hashes of others, instead.
    """

    def __init__(self, entries: Sequence[Any], default: int, num_oov_buckets: int) -> None:
        # Features on the host hold `bytes`.
        encoded = (entry.encode() if isinstance(entry, str) else entry for entry in entries)
        self._ids = {entry: index for index, entry in enumerate(encoded)}
        self._default = default
        self._num_oov_buckets = num_oov_buckets

    def lookup(self, values: np.ndarray, fingerprints: Fingerprints) -> np.ndarray:
        """Return the ids of values, as int64.

        Args:
            values: Byte strings or whole numbers.
            fingerprints: Gives the hashes of others.
        """
        given = values.tolist()
        # No Python for each value: `get` and `repeat` run in C.
        ids = np.fromiter(map(self._ids.get, given, itertools.repeat(self._default)), np.int64, len(given))
        if self._num_oov_buckets:
            # With buckets there is no default: what is not there is -1.
            others = np.flatnonzero(ids < 0)
            if len(others):
                words = fingerprints.of([given[index] for index in others])
                ids[others] = hash_buckets(words, self._num_oov_buckets) + len(self._ids)
        return ids


def count_lines(path: str, file_format: str | None) -> int:
    """Return how many entries a vocabulary's file has."""
    # TensorFlow, too, goes through the file to find its size.
    return sum(1 for _ in read_entries(path, file_format))


def read_vocabulary(
    key: str, path: str, size: int, dtype: np.dtype, file_format: str | None
) -> list[bytes] | list[int]:
    """Return the first entries of a vocabulary's file.

    Args:
        key: The feature's name, for errors.
        path: The file.
        size: How many.
        dtype: Whole numbers are parsed if it is of them.
        file_format: As a column has it.

    Raises:
        BadArgumentError: The file has fewer entries, one twice, or one that is no number.
        FileMissingError: There is no such file.
    """
    # A file may be longer than vocabulary_size: TensorFlow, too, leaves its other lines out.
    entries = list(itertools.islice(read_entries(path, file_format), size))
    if len(entries) < size:
        raise errors.BadArgumentError(
            f"The vocabulary's file of feature {shown(key)} is too short. Expected: {size} lines, the vocabulary_size. "
            f"Received: {len(entries)} in {shown(path)}. Pass the right size, or none."
        )
    if len(set(entries)) < len(entries):
        first: dict[bytes, int] = {}
        # `setdefault` gives an entry's first line: another one means that it comes again.
        line = next(i for i, entry in enumerate(entries) if first.setdefault(entry, i) != i)
        raise errors.BadArgumentError(
            f"The vocabulary's file of feature {shown(key)} has {shown(entries[line])} more than once: in lines "
            f"{first[entries[line]] + 1} and {line + 1} of {shown(path)}. Leave repeated entries out."
        )
    return entries if dtype.kind == "O" else [_number(key, path, *each) for each in enumerate(entries)]


def _number(key: str, path: str, line: int, entry: bytes) -> int:
    try:
        return int(entry)
    except ValueError as e:
        raise errors.BadArgumentError(
            f"The vocabulary's file of feature {shown(key)} has a line that is no whole number: {shown(entry)} in line "
            f"{line + 1} of {shown(path)}. Mend the line, or pass dtype=tf.string."
        ) from e


def read_entries(path: str, file_format: str | None) -> Iterator[bytes]:
    if file_format == _RECORDS:
        yield from tf_record_iterator(path, "GZIP")
        return
    # TensorFlow leaves carriage returns out, wherever they stand.
    text = gfile.read_file(path).replace(b"\r", b"")
    lines = text.split(b"\n")
    # The end of the last line begins no entry.
    yield from lines[:-1] if not lines[-1] else lines
