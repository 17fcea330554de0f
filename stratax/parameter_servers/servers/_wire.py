"""Messages between parameter servers and those who use them: a header and arrays, over a stream of Arrow Flight.

A message is one record batch or several. The first carries the header as JSON, with the dtypes and shapes of all
arrays, and the bytes of the small ones; each large array follows in pieces. Bytes are sent from where they lie, without
a copy. Nothing is pickled, and nothing is allocated before the header's sizes have been checked.
"""

import json
import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from stratax.base.shown import shown
from stratax.errors import BadTypeError, DataLossError
from stratax.parameter_servers.servers._arrow import flight, pa

SCHEMA = pa.schema([("bytes", pa.uint8())])

# The largest header, in bytes: a few thousand variables have less than a tenth of it.
MOST_HEADER_BYTES = 16 << 20

# Arrays up to this size travel together, in one copy: a batch of its own costs more.
_SMALL_BYTES = 32 << 10

# Larger arrays travel in pieces, so that sending one and receiving the next overlap.
_PIECE_BYTES = 8 << 20

# Where JAX wants an array in the memory of the processor to begin.
_ALIGNMENT = 64

_DTYPES = {
    np.dtype(dtype).name: np.dtype(dtype)
    for dtype in (
        *(np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64),
        *(np.float16, np.float32, np.float64, np.complex64, np.complex128),
        *(ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2),
    )
}


class Message(NamedTuple):
    """What one side tells the other.

    Attributes:
        header: Values of JSON.
        arrays: Arrays of numbers. Received ones may be read-only.
    """

    header: dict[str, Any]
    arrays: list[np.ndarray]


class _Spec(NamedTuple):
    dtype: np.dtype
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        return self.dtype.itemsize * math.prod(self.shape)


def send(writer: Any, header: dict[str, Any], arrays: Sequence[np.ndarray] = ()) -> None:
    """Write a message.

    Args:
        writer: A stream's writer, which has begun with `SCHEMA`.
        header: Values of JSON.
        arrays: Arrays of numbers, of any order in memory.

    Raises:
        BadTypeError: An array is of a dtype that can't be sent.
    """
    arrays = [np.ascontiguousarray(array).reshape(np.shape(array)) for array in arrays]
    for array in arrays:
        if array.dtype.name not in _DTYPES:
            raise BadTypeError(
                "A server keeps numbers. Expected: an array of booleans, integers or floats. Received: an array of "
                f"dtype {array.dtype}. Keep text on the host, and its numbers in variables."
            )
    specs = [[array.dtype.name, array.shape] for array in arrays]
    # `reshape` and `view` keep the memory; a view as bytes needs a dimension.
    pieces = [array.reshape(-1).view(np.uint8) for array in arrays]
    small = [piece for piece in pieces if piece.size <= _SMALL_BYTES]
    together = small[0] if len(small) == 1 else np.concatenate(small) if small else np.empty(0, np.uint8)
    writer.write_with_metadata(_batch(together), json.dumps({"header": header, "arrays": specs}).encode())
    for piece in pieces:
        if piece.size > _SMALL_BYTES:
            for start in range(0, piece.size, _PIECE_BYTES):
                writer.write_batch(_batch(piece[start : start + _PIECE_BYTES]))


def receive(reader: Any, most_bytes: int) -> Message:
    """Read a message.

    Args:
        reader: A stream's reader.
        most_bytes: How many bytes all arrays together may have.

    Raises:
        StopIteration: The other side has ended the stream.
        DataLossError: What came is no message, or a larger one.
    """
    chunk = reader.read_chunk()
    header, specs = _parse(chunk.app_metadata, most_bytes)
    together = _bytes_of(chunk)
    arrays: list[np.ndarray] = []
    position = 0
    for spec in specs:
        if spec.size <= _SMALL_BYTES:
            piece = together[position : position + spec.size]
            position += spec.size
        else:
            piece = _join_pieces(reader, spec.size)
        if piece.size != spec.size:
            raise _make_damage_error(f"{piece.size} bytes where an array has {spec.size}")
        arrays.append(_align(piece, spec.dtype).view(spec.dtype).reshape(spec.shape))
    if position != together.size:
        raise _make_damage_error(f"{together.size} bytes where arrays have {position}")
    return Message(header, arrays)


def _join_pieces(reader: Any, size: int) -> np.ndarray:
    """Return the bytes of an array that follow in pieces."""
    if size <= _PIECE_BYTES:
        return _bytes_of(reader.read_chunk())
    whole = _empty(size)
    for start in range(0, size, _PIECE_BYTES):
        piece = _bytes_of(reader.read_chunk())
        if piece.size != min(_PIECE_BYTES, size - start):
            raise _make_damage_error(f"a piece of {piece.size} bytes")
        whole[start : start + piece.size] = piece
    return whole


def _empty(size: int) -> np.ndarray:
    """Return memory for an array that begins where JAX takes it without a copy."""
    whole = np.empty(size + _ALIGNMENT, np.uint8)
    start = -whole.ctypes.data % _ALIGNMENT
    return whole[start : start + size]


def _align(piece: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Return bytes that begin where numbers of a dtype may: small arrays lie behind one another."""
    return piece if piece.ctypes.data % dtype.alignment == 0 else piece.copy()


def _batch(data: np.ndarray) -> pa.RecordBatch:
    buffer = pa.py_buffer(data)
    return pa.RecordBatch.from_arrays(
        [pa.Array.from_buffers(pa.uint8(), data.size, [None, buffer])], schema=SCHEMA
    )


def _bytes_of(chunk: flight.FlightStreamChunk) -> np.ndarray:
    if chunk.data is None or chunk.data.schema != SCHEMA or chunk.data.column(0).null_count:
        raise _make_damage_error("no bytes")
    return chunk.data.column(0).to_numpy()


def _parse(metadata: pa.Buffer | None, most_bytes: int) -> tuple[dict[str, Any], list[_Spec]]:
    if metadata is None or metadata.size > MOST_HEADER_BYTES:
        raise _make_damage_error("no header" if metadata is None else f"a header of {metadata.size} bytes")
    try:
        parts = json.loads(metadata.to_pybytes())
        header, specs = parts["header"], [_spec(*each) for each in parts["arrays"]]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise _make_damage_error(f"a header that can't be read ({type(error).__name__})") from None
    if not isinstance(header, dict):
        raise _make_damage_error("a header without names")
    size = sum(spec.size for spec in specs)
    if size > most_bytes:
        raise _make_damage_error(f"arrays of {size} bytes, of which {most_bytes} are allowed")
    return header, specs


def _spec(dtype: str, shape: Iterable[int]) -> _Spec:
    sizes = tuple(shape)
    if any(type(size) is not int or size < 0 for size in sizes):
        raise ValueError("sizes")
    return _Spec(_DTYPES[dtype], sizes)


def _make_damage_error(what: str) -> DataLossError:
    return DataLossError(
        "A message between a parameter server and a task is damaged, or of another version of Stratax. Expected: a "
        f"header and its arrays. Received: {shown(what)}. Run the same version in all tasks."
    )
