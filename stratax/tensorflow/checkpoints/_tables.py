"""Sorted tables, the files in which TensorFlow keeps what stands in a checkpoint (checkpoint layer).

The format is LevelDB's: blocks of entries in the order of their keys, an index of the blocks, and a footer with a magic
number. A key shares its beginning with the one before; a block may be compressed with Snappy and ends with a checksum.
"""

import pathlib
import struct
from collections.abc import Iterator

from stratax.data.records import compute_masked_crc

_FOOTER_BYTES = 48
_MAGIC = 0xDB4775248B80FB57
# A block's kind of compression and its checksum follow it.
_TRAILER = struct.Struct("<BI")
_PLAIN, _SNAPPY = 0, 1
# More than any writer puts into one block; a length beyond it is damage.
_MOST_BLOCK_BYTES = 1 << 31


class DamagedError(ValueError):
    """A file is not what it was written as."""


def is_table(path: pathlib.Path) -> bool:
    """Return whether a file ends as a table does."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            if size < _FOOTER_BYTES:
                return False
            file.seek(size - 8)
            return int.from_bytes(file.read(8), "little") == _MAGIC
    except OSError:
        return False


def entries(path: pathlib.Path) -> Iterator[tuple[bytes, bytes]]:
    """Yield the keys and values of a table, in order.

    Args:
        path: The file.

    Raises:
        DamagedError: If it is no whole table.
        OSError: If it can't be read.
    """
    content = path.read_bytes()
    if len(content) < _FOOTER_BYTES:
        raise DamagedError(f"{path.name} has only {len(content)} bytes")
    footer = memoryview(content)[-_FOOTER_BYTES:]
    if int.from_bytes(footer[-8:], "little") != _MAGIC:
        raise DamagedError(f"{path.name} does not end as it should: it was cut off, or is something else")
    # Of the index of other data, which nothing uses, and of the index of blocks.
    _, position = _handle(footer, 0)
    index, _ = _handle(footer, position)
    for _, handle in _pairs(_block(content, index, path.name), path.name):
        place, _ = _handle(memoryview(handle), 0)
        yield from _pairs(_block(content, place, path.name), path.name)


def varint(data: memoryview | bytes, position: int) -> tuple[int, int]:
    """Read a number of seven bits a byte, the last first; return it and the position behind it.

    Raises:
        DamagedError: If the data ends within it.
    """
    number = shift = 0
    while position < len(data) and shift < 64:
        byte = data[position]
        position += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, position
        shift += 7
    raise DamagedError("a number does not end")


def _handle(data: memoryview, position: int) -> tuple[tuple[int, int], int]:
    offset, position = varint(data, position)
    size, position = varint(data, position)
    return (offset, size), position


def _block(content: bytes, place: tuple[int, int], name: str) -> bytes:
    offset, size = place
    end = offset + size
    if end + _TRAILER.size > len(content):
        raise DamagedError(f"{name} is cut off: a block should end at byte {end}")
    kind, crc = _TRAILER.unpack_from(content, end)
    # The checksum is of the block and its kind.
    if compute_masked_crc(memoryview(content)[offset : end + 1]) != crc:
        raise DamagedError(f"the checksum of {name} is wrong in bytes {offset} to {end}")
    block = content[offset:end]
    if kind == _SNAPPY:
        return _expand(block)
    if kind != _PLAIN:
        raise DamagedError(f"{name} has a block of unknown compression {kind}")
    return block


def _pairs(block: bytes, name: str) -> Iterator[tuple[bytes, bytes]]:
    if len(block) < 4:
        raise DamagedError(f"{name} has a block without an end")
    # Behind the entries stand the places of keys that share nothing, for a search, and how many there are.
    num_restarts = int.from_bytes(block[-4:], "little")
    end = len(block) - 4 - 4 * num_restarts
    position, key = 0, b""
    while position < end:
        shared, position = varint(block, position)
        unshared, position = varint(block, position)
        size, position = varint(block, position)
        if shared > len(key) or position + unshared + size > end:
            raise DamagedError(f"{name} has an entry that does not fit into its block")
        key = key[:shared] + block[position : position + unshared]
        position += unshared
        yield key, block[position : position + size]
        position += size


def _expand(data: bytes) -> bytes:
    """Undo Snappy's compression: literal bytes, and copies of what came before."""
    length, position = varint(data, 0)
    if length > _MOST_BLOCK_BYTES:
        raise DamagedError(f"a block of {length} bytes is no block")
    out = bytearray()
    while position < len(data):
        tag = data[position]
        position += 1
        kind, size = tag & 3, tag >> 2
        if kind == 0:
            if size >= 60:
                # The length stands in one to four bytes of its own.
                num_bytes = size - 59
                size = int.from_bytes(data[position : position + num_bytes], "little")
                position += num_bytes
            out += data[position : position + size + 1]
            position += size + 1
            continue
        if kind == 1:
            size, offset = (size & 7) + 4, (tag >> 5) << 8
            num_bytes = 1
        else:
            size, offset = size + 1, 0
            num_bytes = 2 if kind == 2 else 4
        offset |= int.from_bytes(data[position : position + num_bytes], "little")
        position += num_bytes
        if not 0 < offset <= len(out):
            raise DamagedError("a compressed block refers to what is not there")
        start = len(out) - offset
        # What is copied may reach into the copy: a pattern that repeats.
        piece = out[start : start + size]
        out += (piece * (size // len(piece) + 1))[:size]
    if len(out) != length:
        raise DamagedError(f"a compressed block has {len(out)} bytes instead of {length}")
    return bytes(out)
