"""How arrays lie in a checkpoint: in chunks, which every process writes and reads alone (checkpoint layer).

The format is Zarr 3 in one OCDBT database of TensorStore, as Orbax writes it, too. Of an array that devices have in
parts no chunk lies in two of them, so that a process writes its own parts, and reads those that it is to have.
"""

import functools
import itertools
import math
import pathlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import tensorstore as ts

from stratax.core.storage import Bounds, HostParts

# What a chunk has at most. Compressing one takes as much again, and there are a few at once.
_CHUNK_BYTES = 4 << 20
# What is on its way to the disk, or from it, at a time.
_BYTES_AT_ONCE = 32 << 20
# Zstandard's quickest: weights hardly get smaller with another.
_ZSTD_LEVEL = 1
_INDEX_BYTES = 32 << 20
# The folders of several processes begin with it; their arrays are those of the folder that they lie in.
_PROCESS = "process_"


def folder_of(process: int) -> str:
    """Return the name of the folder in which one of several processes writes."""
    return f"{_PROCESS}{process}"


def write(
    folder: pathlib.Path, arrays: Mapping[str, np.ndarray | HostParts], process: int | None = None
) -> None:
    """Write arrays, or the parts of them that are here.

    Args:
        folder: Where to, which is not there yet.
        arrays: The arrays, by key; none is empty.
        process: Which of several processes writes its parts; :func:`merge` makes one database of them. None for all.
    """
    place = folder if process is None else folder / folder_of(process)
    place.mkdir(parents=True)
    window, context = _Window(), _context()
    chunks = {key: choose_chunk(array) for key, array in arrays.items()}
    # All at once: what is on its way together is one version of the database, and a file or two.
    database = _database(place, writes=True)
    opened = {
        key: ts.open(_write_spec(database, key, array, chunks[key]), context=context)
        for key, array in arrays.items()
    }
    for key, array in arrays.items():
        store = opened.pop(key).result()
        for bounds, part in _parts_of(array).items():
            for block in _blocks(bounds, chunks[key]):
                piece = part[_within(block, bounds)]
                written = store[_slices(block)].write(piece, can_reference_source_data_indefinitely=True)
                window.add(written, piece.nbytes)
    window.finish()


def _parts_of(array: np.ndarray | HostParts) -> Mapping[Bounds, np.ndarray]:
    return {_all_of(array.shape): array} if isinstance(array, np.ndarray) else array.parts


def merge(folder: pathlib.Path) -> None:
    """Make one database of those that several processes have written; it names their files, and copies none."""
    context = _context()
    whole = ts.KvStore.open(_database(folder, writes=True), context=context).result()
    with ts.Transaction(atomic=True) as transaction:
        for place in sorted(folder.glob(f"{_PROCESS}*")):
            part = ts.KvStore.open(_database(place), context=context).result()
            part.experimental_copy_range_to(whole.with_transaction(transaction)).result()


def read(
    folder: pathlib.Path, wanted: Mapping[str, Sequence[Bounds] | None]
) -> dict[str, np.ndarray | HostParts]:
    """Read arrays, or parts of them.

    Args:
        folder: Where they were written.
        wanted: Of each key the parts, all of one shape; None for the whole.

    Raises:
        ValueError: If TensorStore can't read them.
    """
    found: dict[str, np.ndarray | HostParts] = {}
    window, context = _Window(), _context()
    database = _database(folder)
    opened = {key: ts.open(_read_spec(database, key), context=context) for key in wanted}
    for key, indices in wanted.items():
        store = opened.pop(key).result()
        dtype, chunk = store.dtype.numpy_dtype, _chunk_of(store)
        if indices is None and chunk == store.shape:
            # The value is what is read, and needs no other place.
            window.add(store.read(), store.size * dtype.itemsize, functools.partial(found.__setitem__, key))
            continue
        parts = {
            index: np.empty(_extents(index), dtype)
            for index in ([_all_of(store.shape)] if indices is None else indices)
        }
        for block in _blocks(_all_of(store.shape), chunk):
            _read_block(store, block, parts, window)
        if indices is None:
            (found[key],) = parts.values()
        else:
            found[key] = HostParts(store.shape, dtype, _extents(indices[0]), parts)
    window.finish()
    return found


def _chunk_of(store: Any) -> tuple[int, ...]:
    # A number is one chunk, of no shape.
    return store.chunk_layout.read_chunk.shape or ()


def _read_block(store: Any, block: Bounds, parts: Mapping[Bounds, np.ndarray], window: "_Window") -> None:
    """Begin to read a block, which is one chunk, into the parts that have some of it."""
    common = {index: both for index in parts if (both := _intersect(block, index)) is not None}
    if not common:
        return

    def copy(piece: np.ndarray) -> None:
        for index, both in common.items():
            parts[index][_within(both, index)] = piece[_within(both, block)]

    size = math.prod(_extents(block)) * store.dtype.numpy_dtype.itemsize
    window.add(store[_slices(block)].read(), size, copy)


def choose_chunk(array: np.ndarray | HostParts) -> tuple[int, ...]:
    """Return the shape of an array's chunks: each is some megabytes, and none lies in two parts."""
    part = array.shape if isinstance(array, np.ndarray) else array.part_shape
    chunk = list(part)
    for dim, size in enumerate(part):
        pieces = min(size, -(-math.prod(chunk) * array.dtype.itemsize // _CHUNK_BYTES))
        if pieces <= 1:
            continue
        if size == array.shape[dim]:
            # The last chunk may be smaller than the others.
            chunk[dim] = size // pieces
        else:
            # No chunk may lie in two parts. Where no number near divides (a prime), other dimensions have to do.
            counts = range(pieces, min(size, 4 * pieces) + 1)
            chunk[dim] = size // next((count for count in counts if size % count == 0), 1)
    return tuple(chunk)


class _Window:
    """Bounds how many bytes are on their way at once."""

    def __init__(self) -> None:
        self._pending: list[tuple[Any, Callable[[Any], object] | None]] = []
        self._bytes = 0

    def add(self, future: Any, size: int, then: Callable[[Any], object] | None = None) -> None:
        """Have one more on its way.

        Args:
            future: It.
            size: Its bytes.
            then: What is to be done with its result.
        """
        self._pending.append((future, then))
        self._bytes += size
        if self._bytes > _BYTES_AT_ONCE:
            self.finish()

    def finish(self) -> None:
        """Wait for all of them."""
        # TensorStore begins to write when somebody waits.
        pending, self._pending, self._bytes = self._pending, [], 0
        while pending:
            future, then = pending.pop(0)
            result = future.result()
            if then is not None:
                then(result)


def _context() -> Any:
    # Files are flushed when all are there, in `_commit`. What is kept in memory is the index of the database.
    return ts.Context({"file_io_sync": False, "cache_pool#index": {"total_bytes_limit": _INDEX_BYTES}})


def _database(folder: pathlib.Path, *, writes: bool = False) -> dict[str, Any]:
    base = {"driver": "file", "path": f"{folder}/"}
    spec: dict[str, Any] = {"driver": "ocdbt", "base": base, "cache_pool": "cache_pool#index"}
    if writes:
        # One root, and what is smaller than a page in it: a checkpoint has hundreds of biases and shapes.
        limits = {"max_inline_value_bytes": 1024, "max_decoded_node_bytes": 100_000_000}
        config = {**limits, "manifest_kind": "single", "compression": None}
        spec |= {"config": config, "assume_config": True}
    return spec


def _write_spec(
    database: Mapping[str, Any], key: str, array: np.ndarray | HostParts, chunk: Sequence[int]
) -> dict[str, Any]:
    codecs = [
        {"name": "bytes", "configuration": {"endian": "little"}},
        {"name": "zstd", "configuration": {"level": _ZSTD_LEVEL}},
    ]
    return {
        "driver": "zarr3",
        "kvstore": {**database, "path": f"{key}/"},
        "metadata": {
            "shape": list(array.shape),
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(chunk)}},
            "codecs": codecs,
        },
        "dtype": array.dtype.name,
        # A chunk that is not there is damage, and not zeros.
        "store_data_equal_to_fill_value": True,
        "recheck_cached_data": False,
        "recheck_cached_metadata": False,
        "create": True,
    }


def _read_spec(database: Mapping[str, Any], key: str) -> dict[str, Any]:
    return {
        "driver": "zarr3",
        "kvstore": {**database, "path": f"{key}/"},
        "fill_missing_data_reads": False,
        "recheck_cached_data": False,
        "recheck_cached_metadata": False,
        "open": True,
    }


def _all_of(shape: Sequence[int]) -> Bounds:
    return tuple((0, size) for size in shape)


def _extents(index: Bounds) -> tuple[int, ...]:
    return tuple(stop - start for start, stop in index)


def _slices(index: Bounds) -> tuple[slice, ...]:
    return tuple(slice(start, stop) for start, stop in index)


def _within(block: Bounds, index: Bounds) -> tuple[slice, ...]:
    """Return where a block lies in the part that it is of."""
    return tuple(
        slice(start - first, stop - first) for (start, stop), (first, _) in zip(block, index, strict=True)
    )


def _intersect(block: Bounds, index: Bounds) -> Bounds | None:
    both = tuple((max(a, c), min(b, d)) for (a, b), (c, d) in zip(block, index, strict=True))
    return both if all(start < stop for start, stop in both) else None


def _blocks(index: Bounds, chunk: Sequence[int]) -> Iterator[Bounds]:
    """Yield the chunks of a part, which begins where a chunk does."""
    for starts in itertools.product(
        *(range(start, stop, size) for (start, stop), size in zip(index, chunk, strict=True))
    ):
        yield tuple(
            (start, min(start + size, stop))
            for start, size, (_, stop) in zip(starts, chunk, index, strict=True)
        )
