"""Elements as bytes: shapes, then the components' memory; nothing in it is ever executed (data layer).

For each component one byte for its rank and its sizes (int64), then for each component its values in C order, little
endian; of byte strings first all lengths (int64), then their content. Dtypes stand in the spec of the whole.
"""

import itertools
import math
from collections.abc import Sequence

import numpy as np

from stratax.data.elements._block import Block, Columns, as_objects

_SIZE = np.dtype("<i8")


def encode_columns(columns: Sequence[np.ndarray], count: int) -> tuple[bytes, list[bytes]]:
    """Return some elements of one shape as bytes.

    Args:
        columns: Their components, [count, ...] each.
        count: How many.

    Returns:
        The header with the shapes, which they have in common, and the elements with it.
    """
    header = b"".join(_shape_bytes(column.shape[1:]) for column in columns)
    parts = [_value_bytes(column, count) for column in columns]
    return header, [header + b"".join(values) for values in zip(*parts, strict=True)]


def _shape_bytes(shape: tuple[int, ...]) -> bytes:
    return bytes([len(shape)]) + np.array(shape, _SIZE).tobytes()


def _value_bytes(column: np.ndarray, count: int) -> list[bytes]:
    if column.dtype.hasobject:
        return [_string_bytes(column[i]) for i in range(count)]
    content = np.ascontiguousarray(column, _little(column.dtype)).tobytes()
    size = len(content) // count
    return [content[i * size : (i + 1) * size] for i in range(count)]


def _little(dtype: np.dtype) -> np.dtype:
    # Those of ml_dtypes (bfloat16) have no other order.
    return dtype.newbyteorder("<") if dtype.isbuiltin == 1 else dtype


def _string_bytes(value: bytes | np.ndarray) -> bytes:
    strings = [value] if isinstance(value, bytes) else value.reshape(-1).tolist()
    return np.array([len(text) for text in strings], _SIZE).tobytes() + b"".join(strings)


def decode_records(records: Sequence[bytes], dtypes: Sequence[np.dtype]) -> Block:
    """Return the elements that some records are made of, as far as they have the shapes of the first.

    Raises:
        ValueError: A record is not what :func:`encode_columns` makes of such components.
    """
    header, shapes = _shapes(records[0], len(dtypes))
    # Equal shapes have equal bytes, so that comparing a beginning is enough.
    alike = list(itertools.takewhile(lambda record: record.startswith(header), records))
    if not any(dtype.hasobject for dtype in dtypes):
        return _decode_together(alike, header, shapes, dtypes)
    offsets = [len(header)] * len(alike)
    leaves = []
    for shape, dtype in zip(shapes, dtypes, strict=True):
        decode = _strings if dtype.hasobject else _numbers
        column, offsets = decode(alike, offsets, math.prod(shape), dtype)
        leaves.append(column.reshape(len(alike), *shape))
    if offsets != list(map(len, alike)):
        raise ValueError("a record has more bytes than its components")
    return Columns(leaves, len(alike))


def _shapes(record: bytes, count: int) -> tuple[bytes, list[tuple[int, ...]]]:
    shapes: list[tuple[int, ...]] = []
    at = 0
    for _ in range(count):
        rank = record[at] if at < len(record) else 0
        stop = at + 1 + _SIZE.itemsize * rank
        if stop > len(record):
            raise ValueError("the record ends within its shapes")
        shape = tuple(np.frombuffer(record, _SIZE, rank, at + 1).tolist())
        # What is read may be damaged: NumPy would take -1 for "whatever fits".
        if any(size < 0 for size in shape):
            raise ValueError(f"the record has a negative size in its shape {shape}")
        shapes.append(shape)
        at = stop
    return record[:at], shapes


def _decode_together(
    records: Sequence[bytes], header: bytes, shapes: list[tuple[int, ...]], dtypes: Sequence[np.dtype]
) -> Block:
    sizes = [math.prod(shape) * dtype.itemsize for shape, dtype in zip(shapes, dtypes, strict=True)]
    length = len(header) + sum(sizes)
    if any(len(record) != length for record in records):
        raise ValueError(f"a record of {length} bytes was expected")
    table = np.frombuffer(b"".join(records), np.uint8).reshape(len(records), length)
    leaves, at = [], len(header)
    for size, shape, dtype in zip(sizes, shapes, dtypes, strict=True):
        # A copy in one piece, which can be viewed as another dtype and written to.
        content = np.array(table[:, at : at + size], order="C").reshape(-1)
        column = content.view(_little(dtype)).astype(dtype, copy=False)
        leaves.append(column.reshape(len(records), *shape))
        at += size
    return Columns(leaves, len(records))


def _numbers(
    records: Sequence[bytes], offsets: list[int], count: int, dtype: np.dtype
) -> tuple[np.ndarray, list[int]]:
    """Return so many numbers of each record from an offset on, and the offsets behind them."""
    size = count * dtype.itemsize
    stops = [offset + size for offset in offsets]
    content = b"".join([record[i:j] for record, i, j in zip(records, offsets, stops, strict=True)])
    if len(content) != size * len(records):
        raise ValueError("a record ends within its values")
    # A copy, as what is made of bytes can't be written to.
    return np.frombuffer(content, _little(dtype)).astype(dtype), stops


def _strings(
    records: Sequence[bytes], offsets: list[int], count: int, dtype: np.dtype
) -> tuple[np.ndarray, list[int]]:
    """Return so many byte strings of each record from an offset on, and the offsets behind them."""
    lengths, offsets = _numbers(records, offsets, count, _SIZE)
    if (lengths < 0).any():
        raise ValueError("a record has a string of negative length")
    found: list[bytes] = []
    stops = []
    rows = lengths.reshape(len(records), count).tolist()
    for record, offset, sizes in zip(records, offsets, rows, strict=True):
        for size in sizes:
            found.append(record[offset : offset + size])
            offset += size
        if offset > len(record):
            raise ValueError("a record ends within a string")
        stops.append(offset)
    return as_objects(found), stops
