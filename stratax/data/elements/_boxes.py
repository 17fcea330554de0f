"""Components that are made of several arrays as bytes, one string for each (data layer)."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from stratax.data.elements._block import Block, Columns, as_objects
from stratax.data.elements._codec import decode_records, encode_columns
from stratax.data.elements._composite import CompositeSpec, is_composites, parts_of


def box(columns: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return columns with each composite as one byte string, for :func:`decode_boxed`."""
    return [_boxes(column) if is_composites(column) else column for column in columns]


def _boxes(column: np.ndarray) -> np.ndarray:
    return as_objects([encode_columns([part[None] for part in parts_of(value)], 1)[1][0] for value in column])


def decode_boxed(records: Sequence[bytes], specs: Sequence[Any]) -> Block:
    """Return the elements that some records are made of, as far as they have the shapes of the first.

    Args:
        records: What `encode_columns` gave for columns of :func:`box`.
        specs: The specs of the components.

    Raises:
        ValueError: A record is nothing that is made of such components.
    """
    boxes = [i for i, spec in enumerate(specs) if isinstance(spec, CompositeSpec) and spec.is_boxed]
    dtypes = [np.dtype(object) if i in boxes else spec.dtype for i, spec in enumerate(specs)]
    block = decode_records(records, dtypes)
    if not boxes:
        return block
    columns = list(block.columns())
    for i in boxes:
        columns[i] = as_objects([_unbox(specs[i], box) for box in columns[i]])
    return Columns(columns, block.count)


def _unbox(spec: CompositeSpec, box: bytes) -> Any:
    return spec.of_parts(decode_records([box], [part.dtype for part in spec.part_specs]).row(0))
