"""Files as streams of bytes, compressed or not (io layer)."""

import abc
import os
import stat
import zlib
from typing import Any

from stratax.base.shown import shown
from stratax.errors import BadArgumentError
from stratax.io._access import is_directory, local_path, reading, reason_of, remote_path

# For zlib 16 more means the header and checksum of gzip.
_WINDOW_BITS = {"": 0, "ZLIB": zlib.MAX_WBITS, "GZIP": zlib.MAX_WBITS + 16}
# Compressed bytes that are read at a time.
_COMPRESSED_PIECE = 1 << 18


def as_compression(compression_type: str | None) -> str:
    """Return the kind of compression: `""`, `"ZLIB"` or `"GZIP"`.

    Raises:
        BadArgumentError: It is something else.
    """
    name = "" if compression_type is None else compression_type
    if name not in _WINDOW_BITS:
        raise BadArgumentError(
            "compression_type is 'GZIP', 'ZLIB', or '' or None for none. "
            f"Received: compression_type={shown(compression_type)}."
        )
    return name


class ByteStream(abc.ABC):
    """The content of a file from front to back.

    Attributes:
        name: The file, as it was named.
        damage: Why the content ended early, None while it did not.
        is_unreadable: Whether that is because the disk or the store failed, whatever the content is.
    """

    name: str
    damage: str | None = None
    is_unreadable: bool = False

    @property
    @abc.abstractmethod
    def remaining(self) -> int | None:
        """How many bytes are left as far as a size tells; None if only reading does."""

    @abc.abstractmethod
    def more(self, tail: bytes, count: int) -> bytes:
        """Return `tail`, the last bytes read, and up to `count` bytes after them; `tail` alone at the end."""

    @abc.abstractmethod
    def skip(self, count: int) -> int:
        """Pass over `count` bytes; return how many there were."""

    def _fail(self, error: Exception) -> bytes:
        """End the content where it can't be read."""
        self.damage, self.is_unreadable = reason_of(error), True
        return b""

    @abc.abstractmethod
    def close(self) -> None:
        """Close the file below."""


class LocalBytes(ByteStream):
    """A file of this machine, read at positions: neither buffered twice nor mapped into memory.

    It is read until the system says that it ends. Its size is only a hint: it is 0 for what the system makes up when
    it is read (`/proc`), and another one soon where somebody still writes.
    """

    def __init__(self, name: str, path: str) -> None:
        self.name = name
        with reading(name):
            self._file = open(path, "rb", buffering=0)  # noqa: SIM115 (closed by close)
        status = os.fstat(self._file.fileno())
        # Pipes have no positions, and what is made up may be another text when it is read again.
        self._has_positions = stat.S_ISREG(status.st_mode) and status.st_size > 0
        self._position = 0

    @property
    def remaining(self) -> int | None:
        """What the file's size says now; None from there on."""
        if not self._has_positions:
            return None
        left = os.fstat(self._file.fileno()).st_size - self._position
        return left if left > 0 else None

    def more(self, tail: bytes, count: int) -> bytes:
        """Read a short tail again, which costs less than moving what comes after it."""
        # A long tail is kept and joined instead.
        again = len(tail) if len(tail) < count and self._has_positions else 0
        try:
            content = self._read(again, count)
        except OSError as e:
            content = self._fail(e)
        self._position += max(0, len(content) - again)
        if not again:
            return tail + content
        # Somebody has truncated the file meanwhile: the tail is still what was read.
        return content if len(content) >= again else tail

    def _read(self, again: int, count: int) -> bytes:
        if self._has_positions:
            return os.pread(self._file.fileno(), again + count, self._position - again)
        return self._file.read(count)

    def skip(self, count: int) -> int:
        """Move the position as far as the size is known, and read on from there."""
        # Not beyond the size that is known: a position behind the end would hide how much there was.
        passed = min(count, self.remaining or 0)
        self._position += passed
        return passed + _skip_by_reading(self, count - passed)

    def close(self) -> None:
        self._file.close()


class RemoteBytes(ByteStream):
    """A file that fsspec opens."""

    def __init__(self, name: str) -> None:
        self.name = name
        filesystem, path = remote_path(name)
        with reading(name):
            # Some stores open a folder as an empty file.
            if filesystem.isdir(path):
                raise is_directory(name)
            # Files are read from front to back here; fsspec's default cache suits jumps.
            self._file = filesystem.open(path, "rb", cache_type="readahead")
            size = filesystem.size(path)
        self._size = None if size is None else int(size)
        self._position = 0

    @property
    def remaining(self) -> int | None:
        """What the store says."""
        return None if self._size is None else max(0, self._size - self._position)

    def more(self, tail: bytes, count: int) -> bytes:
        """Return `tail` and up to `count` bytes that follow it; see :meth:`ByteStream.more`."""
        try:
            content: bytes = self._file.read(count)
        except Exception as e:  # Stores have classes of their own.
            content = self._fail(e)
        self._position += len(content)
        return tail + content

    def skip(self, count: int) -> int:
        """Move the position where the size is known, else reads on."""
        if self._size is None:
            return _skip_by_reading(self, count)
        passed = min(count, self._size - self._position)
        self._position += passed
        self._file.seek(self._position)
        return passed

    def close(self) -> None:
        self._file.close()


def _skip_by_reading(stream: ByteStream, count: int) -> int:
    passed = 0
    while passed < count and (piece := stream.more(b"", min(count - passed, 1 << 20))):
        passed += len(piece)
    return passed


class Decompressed(ByteStream):
    """The content of a compressed file; several compressed streams one after another are one content.

    Args:
        source: The compressed bytes.
        compression: "GZIP" or "ZLIB".
    """

    def __init__(self, source: ByteStream, compression: str) -> None:
        self.name = source.name
        self._source = source
        self._compression = compression
        self._input = b""
        self._machine = zlib.decompressobj(_WINDOW_BITS[compression])
        self._has_begun = False

    @property
    def remaining(self) -> None:
        """None: the size is not known before the end."""
        return None

    def more(self, tail: bytes, count: int) -> bytes:
        """Decompress on, never more than asked for."""
        pieces = [tail]
        missing = count
        while missing and (piece := self._piece(missing)):
            pieces.append(piece)
            missing -= len(piece)
        return b"".join(pieces)

    def _piece(self, limit: int) -> bytes:
        """Return 1 to `limit` bytes; none at the end, or where the damage is."""
        while self.damage is None:
            self._input = self._input or self._source.more(b"", _COMPRESSED_PIECE)
            self._has_begun |= bool(self._input)
            # Zeros behind a stream are padding, as `gzip` ignores them.
            if not self._input or (self._machine.eof and not self._input.strip(b"\0")):
                self._check_end()
                return b""
            # Another compressed stream follows: such files are made by joining several.
            if self._machine.eof:
                self._machine = zlib.decompressobj(_WINDOW_BITS[self._compression])
            if content := self._decompress(limit):
                return content
        return b""

    def _decompress(self, limit: int) -> bytes:
        # Damage is found for a whole piece; from this copy the good part is decompressed again.
        before = self._machine.copy()
        try:
            content = self._machine.decompress(self._input, limit)
        except zlib.error as e:
            if any(part in str(e) for part in ("incorrect data check", "incorrect length check")):
                self.damage = f"the checksum of the {self._compression} content is wrong ({e})"
            else:
                self.damage = f"it is not {self._compression} content here ({e})"
            return _up_to_damage(before, self._input, limit)
        # Behind the end of a stream the rest is the next one's; before it, what did not fit the limit.
        self._input = self._machine.unused_data if self._machine.eof else self._machine.unconsumed_tail
        return content

    def _check_end(self) -> None:
        if self._source.damage is not None:
            self.damage, self.is_unreadable = self._source.damage, self._source.is_unreadable
        elif self._has_begun and not self._machine.eof:
            self.damage = f"the {self._compression} content is cut off"

    def skip(self, count: int) -> int:
        return _skip_by_reading(self, count)

    def close(self) -> None:
        self._source.close()


def _up_to_damage(machine: Any, content: bytes, limit: int) -> bytes:
    """Return what can be decompressed of damaged content."""
    pieces: list[bytes] = []
    try:
        # Byte by byte, so that nothing before the damage is lost; it happens once in a file.
        for i in range(len(content)):
            pieces.append(machine.decompress(content[i : i + 1], limit))
            if (limit := limit - len(pieces[-1])) <= 0:
                break
    except zlib.error:
        pass
    return b"".join(pieces)


def open_bytes(name: str, compression: str = "") -> ByteStream:
    """Return the content of a file.

    Args:
        name: A path or URL.
        compression: As :func:`as_compression` gives it.

    Raises:
        FileMissingError: There is no such file.
        DataLossError: It is a directory.
        FileAccessError: It may not be read.
    """
    path = local_path(name)
    source = RemoteBytes(name) if path is None else LocalBytes(name, path)
    return Decompressed(source, compression) if compression else source


def guess_compression(start: bytes) -> str:
    """Return what kind of compressed content begins like this; "" for none that is known."""
    if start[:2] == b"\x1f\x8b":
        return "GZIP"
    # The first byte of zlib with a window of 32 KiB; the header as a number divides by 31.
    is_zlib = len(start) >= 2 and start[0] == 0x78 and int.from_bytes(start[:2], "big") % 31 == 0
    return "ZLIB" if is_zlib else ""
