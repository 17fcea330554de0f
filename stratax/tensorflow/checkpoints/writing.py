"""Checkpoints in TensorFlow's files, written without TensorFlow (checkpoint layer).

What a session saves is read by TensorFlow, and by programs that look for its files: a table `PREFIX.index`, the bytes
of all arrays in `PREFIX.data-00000-of-00001`, and a file `checkpoint` that names those which are kept.
"""

import os
import pathlib
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from stratax.data.records import compute_masked_crc
from stratax.io import TYPES_BY_DTYPE
from stratax.tensorflow.checkpoints._bundles import MESSAGES, BundleFiles

_MAGIC = 0xDB4775248B80FB57
_FOOTER_BYTES = 40
_STATE = "checkpoint"


def write_bundle(prefix: str | os.PathLike[str], arrays: Mapping[str, np.ndarray]) -> None:
    """Write arrays by name; the table, by which they are found, is there when all of them are.

    Args:
        prefix: The checkpoint's path.
        arrays: Arrays of numbers.
    """
    _write(prefix, (_part_of(name, arrays[name]) for name in sorted(arrays, key=str.encode)))


def rewrite_bundle(
    source: str | os.PathLike[str], prefix: str | os.PathLike[str], arrays: Mapping[str, np.ndarray]
) -> None:
    """Write what a checkpoint has into another one, with other values of some arrays.

    Args:
        source: The path of the checkpoint that is there.
        prefix: The new one's path.
        arrays: The other values, which get the dtypes that the file has.
    """
    files = BundleFiles(pathlib.Path(source))

    def parts() -> Iterator[tuple[bytes, Any, bytes]]:
        for key, entry, content in sorted(files.read_parts(), key=lambda part: part[0]):
            name = key.decode(errors="replace")
            if name in arrays:
                yield _part_of(name, np.asarray(arrays[name]).astype(files.entries[name].dtype))
            else:
                yield key, entry, content

    _write(prefix, parts())


def _part_of(name: str, value: np.ndarray) -> tuple[bytes, Any, bytes]:
    array = np.asarray(value)
    content = array.tobytes()
    entry = MESSAGES["BundleEntryProto"](
        dtype=TYPES_BY_DTYPE[array.dtype].number, size=len(content), crc32c=compute_masked_crc(content)
    )
    # There, even if it has no dimension.
    entry.shape.SetInParent()
    for size in array.shape:
        entry.shape.dim.add(size=size)
    return name.encode(), entry, content


def _write(prefix: str | os.PathLike[str], parts: Iterable[tuple[bytes, Any, bytes]]) -> None:
    path = pathlib.Path(prefix)
    path.parent.mkdir(parents=True, exist_ok=True)
    header = MESSAGES["BundleHeaderProto"](num_shards=1)
    # TensorFlow looks for the version of the writer, which `_bundles` has no use for.
    entries = [(b"", header.SerializeToString() + b"\x1a\x02\x08\x01")]
    offset = 0
    data = path.with_name(f"{path.name}.data-00000-of-00001")
    with _replacing(data) as target, target.open("wb") as file:
        for key, entry, content in parts:
            file.write(content)
            entry.offset, entry.shard_id = offset, 0
            entries.append((key, entry.SerializeToString()))
            offset += len(content)
    with _replacing(path.with_name(f"{path.name}.index")) as target:
        target.write_bytes(_make_table(entries))


def write_state(folder: str | os.PathLike[str], kept: Sequence[str], file_name: str | None = None) -> None:
    """Write which checkpoints of a folder there are.

    Args:
        folder: The folder.
        kept: Their paths, oldest first.
        file_name: What the file is called; by default `checkpoint`.
    """

    def quote(path: str) -> str:
        inside = os.path.relpath(path, folder)
        return f'"{path if inside.startswith(os.pardir) else inside}"'

    lines = [f"model_checkpoint_path: {quote(kept[-1])}"] if kept else []
    lines += [f"all_model_checkpoint_paths: {quote(path)}" for path in kept]
    with _replacing(pathlib.Path(folder) / (file_name or _STATE)) as target:
        target.write_text("\n".join([*lines, ""]), "utf-8")


def remove_bundle(prefix: str | os.PathLike[str]) -> None:
    """Remove a checkpoint's files, the table first."""
    path = pathlib.Path(prefix)
    for ending in ("index", "data-00000-of-00001", "meta"):
        path.with_name(f"{path.name}.{ending}").unlink(missing_ok=True)


class _replacing:
    """Gives the path of a new file, which takes another one's place when it is whole.

    Args:
        path: The other one.
    """

    def __init__(self, path: pathlib.Path) -> None:
        self._path = path
        self._new = path.with_name(f"{path.name}.tempstate{os.getpid()}")

    def __enter__(self) -> pathlib.Path:
        return self._new

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            os.replace(self._new, self._path)
        else:
            self._new.unlink(missing_ok=True)


def _make_table(entries: Sequence[tuple[bytes, bytes]]) -> bytes:
    """Return a table of entries in the order of their keys."""
    blocks = bytearray()

    def add(pairs: Sequence[tuple[bytes, bytes]]) -> bytes:
        start = len(blocks)
        block = _make_block(pairs)
        # Not compressed; the checksum is of the block and that byte.
        blocks.extend(block + b"\0")
        blocks.extend(struct.pack("<I", compute_masked_crc(block + b"\0")))
        return _varint(start) + _varint(len(block))

    place = add(entries)
    nothing = add([])
    index = add([(entries[-1][0] + b"\xff", place)])
    footer = (nothing + index).ljust(_FOOTER_BYTES, b"\0")
    return bytes(blocks) + footer + struct.pack("<Q", _MAGIC)


def _make_block(pairs: Sequence[tuple[bytes, bytes]]) -> bytes:
    content, places = bytearray(), [0]
    for number, (key, value) in enumerate(pairs):
        if number:
            # Each key stands there whole, so that a search may begin at any.
            places.append(len(content))
        content += _varint(0) + _varint(len(key)) + _varint(len(value)) + key + value
    return bytes(content) + struct.pack(f"<{len(places)}I", *places) + struct.pack("<I", len(places))


def _varint(number: int) -> bytes:
    made = bytearray()
    while number >= 0x80:
        made.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*made, number])
