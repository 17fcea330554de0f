"""Reading records of a TFRecord file at known positions, many at once (data layer)."""

import itertools
import os

import numpy as np

from stratax.data.records._tfrecord_reader import FOOTER_BYTES, HEADER_BYTES, compute_masked_crcs, header_of

# What a record takes in a file beside its data.
FRAME_BYTES = HEADER_BYTES + FOOTER_BYTES

# Up to this distance reading what lies between costs less than another call.
_MAX_GAP = 1 << 12
# How much is read in one go, at most about twice this.
_MAX_SPAN = 1 << 20


class BadRecordError(Exception):
    """A record is not what it should be; for whoever knows the file's name.

    Attributes:
        index: Which of those that were asked for.
        is_data: Whether it is the data that is damaged; else another record lies there, or none.
    """

    def __init__(self, index: int, *, is_data: bool) -> None:
        super().__init__(index, is_data)
        self.index = index
        self.is_data = is_data


def read_records(file: int, starts: np.ndarray, stops: np.ndarray, *, check_crc: bool) -> list[bytes]:
    """Read some records of a file, those that are close to each other in one go.

    Args:
        file: The descriptor; its position is neither used nor moved, so several threads may read.
        starts: Where they begin, int64 [n], not decreasing.
        stops: Where they end.
        check_crc: Whether the checksums of the data are compared (those of the lengths always are).

    Raises:
        BadRecordError: One of them is damaged.
    """
    headers: list[bytes] = []
    records: list[bytes] = []
    footers: list[bytes] = []
    for part in _spans(file, starts, stops):
        base = int(starts[part.start])
        content = os.pread(file, int(stops[part.stop - 1]) - base, base)
        bounds = (starts[part] - base).tolist(), (stops[part] - base).tolist()
        for start, stop in zip(*bounds, strict=True):
            headers.append(content[start : start + HEADER_BYTES])
            records.append(content[start + HEADER_BYTES : stop - FOOTER_BYTES])
            footers.append(content[stop - FOOTER_BYTES : stop])
    # Compared as bytes: equal lengths have equal headers, checksum included.
    _check_headers(headers, footers, (stops - starts - FRAME_BYTES).tolist())
    if check_crc:
        _check_data(footers, records)
    return records


def _spans(file: int, starts: np.ndarray, stops: np.ndarray) -> list[slice]:
    """Group the records that are read in one go: close together, and not too much at once."""
    is_far = starts[1:] - stops[:-1] > _MAX_GAP
    is_new = is_far | (starts[1:] // _MAX_SPAN != starts[:-1] // _MAX_SPAN)
    edges = [0, *(np.flatnonzero(is_new) + 1).tolist(), len(starts)]
    spans = [slice(a, b) for a, b in itertools.pairwise(edges)]
    if len(spans) > 1 and hasattr(os, "posix_fadvise"):
        # The system fetches all of them while the first is waited for.
        for part in spans:
            begin = int(starts[part.start])
            os.posix_fadvise(file, begin, int(stops[part.stop - 1]) - begin, os.POSIX_FADV_WILLNEED)
    return spans


def _check_headers(headers: list[bytes], footers: list[bytes], lengths: list[int]) -> None:
    expected = list(map(header_of, lengths))
    sizes = list(map(len, footers))
    if headers != expected or sizes.count(FOOTER_BYTES) < len(sizes):
        found = zip(headers, expected, sizes, strict=True)
        is_right = [header == wanted and size == FOOTER_BYTES for header, wanted, size in found]
        raise BadRecordError(is_right.index(False), is_data=False)


def _check_data(footers: list[bytes], records: list[bytes]) -> None:
    differ = np.flatnonzero(np.frombuffer(b"".join(footers), "<u4") != compute_masked_crcs(records))
    if len(differ):
        raise BadRecordError(int(differ[0]), is_data=True)
