"""`Dataset.save` and `Dataset.load`: elements in a folder of files (data layer)."""

import contextlib
import logging
import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from stratax.base.shown import shown
from stratax.base.typing import PyTree
from stratax.data.elements import (
    AUTOTUNE,
    CompositeSpec,
    DatasetSpec,
    Nested,
    Structure,
    TensorSpec,
    copy_leaf,
    flatten,
    spec_kind,
)
from stratax.data.iteration import DatasetIterator
from stratax.data.plan import Node, check_callable
from stratax.data.snapshots._snapshot import SPEC_FILE, Snapshot, read_snapshot
from stratax.data.snapshots._source import is_indexable, source_of
from stratax.data.snapshots._writer import SnapshotWriter, positions_of
from stratax.data.sources import RowsSource
from stratax.data.vectorise import call, on_host
from stratax.errors import BadArgumentError, DataError, FileMissingError
from stratax.io import as_compression, as_file_name

logger = logging.getLogger(__name__)

_BLOCK = 256
_POLL_SECONDS = 0.2


def save(
    elements: DatasetIterator,
    spec: PyTree,
    path: str | os.PathLike[str],
    compression: str | None,
    shard_func: Callable[..., Any] | None,
    checkpoint_args: object,
) -> None:
    """Write all elements of an iterator; see `Dataset.save`."""
    if checkpoint_args is not None:
        raise BadArgumentError(
            "A save that was interrupted begins anew, so there is nothing to checkpoint. "
            f"Received: checkpoint_args={shown(checkpoint_args)}. Leave it out."
        )
    if shard_func is not None:
        check_callable("shard_func", shard_func)
    with contextlib.closing(elements):
        writer = SnapshotWriter(as_file_name(path), spec, _compression(compression))
        try:
            _write_all(elements, flatten(spec)[1], writer, shard_func)
            writer.commit(replace=True)
        finally:
            # Without effect after `commit`; after a failure nothing half-written is left.
            writer.abandon()


def _compression(compression: str | None) -> str:
    # TensorFlow's `save` has its own word for none.
    return as_compression("" if compression == "NONE" else compression)


def _write_all(
    elements: DatasetIterator,
    structure: Structure,
    writer: SnapshotWriter,
    shard_func: Callable[..., Any] | None,
) -> None:
    counts: dict[int, int] = {}
    while True:
        try:
            block, count = elements.next_block(_BLOCK)
        except StopIteration:
            return
        columns = flatten(block)[0]
        shards = [0] * count
        if shard_func is not None:
            shards = [
                _shard_of(shard_func, structure, [column[i] for column in columns]) for i in range(count)
            ]
        writer.write(columns, count, shards, list(positions_of(shards, counts)))


def _shard_of(shard_func: Callable[..., Any], structure: Structure, row: list[Any]) -> int:
    # Copies: the function may change what it gets, and the elements are still to be written.
    copies = [copy_leaf(leaf) for leaf in row]
    # Numbers of files are computed on the host: no program is compiled for them.
    with on_host():
        number = np.asarray(call(shard_func, structure, copies))
    if number.shape or number.dtype.kind not in "iu" or int(number) < 0:
        raise DataError(
            "shard_func has to give the number of a file, from 0. "
            f"Received: a value of dtype={number.dtype}, shape={number.shape}: {shown(number)}. Return "
            "np.int64(number)."
        )
    return int(number)


def load(
    path: str | os.PathLike[str],
    element_spec: PyTree,
    compression: str | None,
    reader_func: Callable[[Any], Any] | None,
    wrap: Callable[[Node], Nested],
    *,
    wait: bool = False,
) -> Any:
    """Return the Dataset of what :func:`save` wrote; `wrap` makes a Dataset of a node."""
    folder = as_file_name(path)
    snapshot = read_snapshot(folder)
    if snapshot is None and wait:
        logger.info("Waiting for %s to be saved to its end", shown(folder))
        while snapshot is None:
            time.sleep(_POLL_SECONDS)
            snapshot = read_snapshot(folder)
    if snapshot is None:
        raise FileMissingError(
            f"There is no saved Dataset, or its writing did not come to its end. Expected: a folder with {SPEC_FILE}. "
            f"Received: path={shown(folder)}. Write it with Dataset.save.",
            filename=folder,
        )
    spec = snapshot.spec if element_spec is None else _check_spec(snapshot, element_spec)
    if compression is not None and _compression(compression) != snapshot.compression:
        raise BadArgumentError(
            "The Dataset was saved with another compression. Expected: "
            f"compression={shown(snapshot.compression)}, or None. "
            f"Received: compression={shown(compression)}."
        )
    # As TensorFlow, which reads so many files at a time.
    num_turns = os.cpu_count() or 1
    if reader_func is None and (len(snapshot.shards) < 2 or is_indexable(snapshot)):
        return wrap(source_of(snapshot, spec, num_turns=num_turns))
    parts = [[wrap(source_of(snapshot, spec, [shard]))] for shard in snapshot.shards]
    files: Any = wrap(RowsSource(parts, DatasetSpec(spec)))
    if reader_func is None:
        return files.interleave(lambda file: file, cycle_length=num_turns, num_parallel_calls=AUTOTUNE)
    check_callable("reader_func", reader_func)
    found = reader_func(files)
    if not isinstance(found, Nested):
        raise DataError(
            f"reader_func has to return a Dataset. Received: {shown(found)} of type {type(found).__name__}. "
            "Return for instance datasets.flat_map(lambda dataset: dataset)."
        )
    return found


def _check_spec(snapshot: Snapshot, element_spec: PyTree) -> Any:
    wanted, saved = flatten(element_spec)[0], flatten(snapshot.spec)[0]
    agree = len(wanted) == len(saved) and all(
        isinstance(a, TensorSpec | CompositeSpec) and a.is_like(b) and a.is_compatible_with(b)
        for a, b in zip(wanted, saved, strict=True)
    )
    if not agree or spec_kind(element_spec) != spec_kind(snapshot.spec):
        raise DataError(
            f"The saved elements are others than asked for. Expected: element_spec={shown(snapshot.spec)}, as "
            "they were "
            f"saved. Received: element_spec={shown(element_spec)}."
        )
    return element_spec
