"""Hashes of combinations of values, of each row, as TensorFlow's crosses of features (ops layer)."""

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from stratax.base.shown import shown
from stratax.base.typing import TensorLike
from stratax.data import SparseTensor
from stratax.data.elements import as_array
from stratax.errors import BadArgumentError, BadTypeError
from stratax.tensorflow.ops.text.fingerprints import DEFAULT_KEY, Words, fingerprint64, fingerprint_cat

# What hashes are divided by where there are no buckets: none is negative then.
_LARGEST = 2**63 - 1


class _Rows(NamedTuple):
    """Hashes, and which of them are there: both of shape `(rows, width)`."""

    words: Words
    present: np.ndarray


def cross(inputs: Sequence[Any], num_buckets: int, hash_key: int | None) -> SparseTensor:
    """Return the hashes of all combinations of each row's values.

    Args:
        inputs: SparseTensors or arrays of two dimensions, of text or whole numbers, with as many rows.
        num_buckets: What the hashes are divided by, of which the rest is left; 0 for none.
        hash_key: What they begin with; None or 0 for TensorFlow's default.

    Raises:
        BadArgumentError: There is no input, they have different numbers of rows, or `num_buckets` is negative.
        BadTypeError: One is neither text nor whole numbers.
    """
    # What is sparse comes before what is not, wherever it stands.
    ordered = sorted(inputs, key=lambda each: not isinstance(each, SparseTensor))
    if not ordered or num_buckets < 0:
        raise BadArgumentError(
            "A cross takes one input at least, and num_buckets of 0 or more. Received: "
            f"{len(ordered)} inputs, num_buckets={num_buckets}."
        )
    rows = [_rows(each) for each in ordered]
    if len({len(each.words) for each in rows}) > 1:
        raise BadArgumentError(
            "Inputs of a cross have as many rows. Received: "
            f"{', '.join(str(len(each.words)) for each in rows)} rows."
        )
    # 0 counts as no key, as in TensorFlow.
    begun = _Rows(fingerprint_cat(np.uint64(hash_key or DEFAULT_KEY), rows[0].words), rows[0].present)
    found = functools.reduce(_pairs, rows[1:], begun)
    # How many hashes each row has, and the place of each of them in its row.
    counts = found.present.sum(axis=1, dtype=np.int64)
    places = np.cumsum(found.present, axis=1)[found.present] - 1
    indices = np.stack([np.repeat(np.arange(len(counts)), counts), places], axis=1).astype(np.int64)
    values = (found.words[found.present] % np.uint64(num_buckets or _LARGEST)).astype(np.int64)
    return SparseTensor(indices, values, np.array([len(counts), counts.max(initial=0)], np.int64))


def _pairs(one: _Rows, other: _Rows) -> _Rows:
    """Return the hashes of all pairs in each row, the last varying fastest."""
    words = fingerprint_cat(one.words[:, :, None], other.words[:, None, :])
    present = one.present[:, :, None] & other.present[:, None, :]
    shape = (len(words), words.shape[1] * words.shape[2])
    return _Rows(words.reshape(shape), present.reshape(shape))


def _rows(value: TensorLike) -> _Rows:
    if not isinstance(value, SparseTensor):
        array = _two_dims(np.asarray(as_array(value)), value)
        return _Rows(_words(array.reshape(-1)).reshape(array.shape), np.ones(array.shape, np.bool_))
    indices, values, sizes = (np.asarray(as_array(part)) for part in value.parts)
    rows, count = indices[:, 0], int(sizes[0])
    # One after another, whatever their columns are.
    # It counts on indices in row-major order, as TensorFlow's operations do.
    lengths = np.bincount(rows, minlength=count)
    places = np.arange(len(rows)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    shape = (count, int(lengths.max(initial=0)))
    words, present = np.zeros(shape, np.uint64), np.zeros(shape, np.bool_)
    words[rows, places], present[rows, places] = _words(values), True
    return _Rows(words, present)


def _two_dims(array: np.ndarray, value: object) -> np.ndarray:
    if array.ndim != 2:
        raise BadArgumentError(
            f"An input of a cross is of shape (rows, values). Received: {shown(value)}, of shape {array.shape}."
        )
    return array


def _words(values: np.ndarray) -> Words:
    if values.dtype.kind in "iu":
        # Whole numbers are taken as they are.
        return values.astype(np.int64).view(np.uint64)
    listed = values.tolist()
    if values.dtype.kind not in "OSU" or not all(isinstance(each, bytes | str) for each in listed):
        raise BadTypeError(
            f"An input of a cross is text or whole numbers. Received: {shown(values)}, of {values.dtype}."
        )
    return fingerprint64([each.encode() if isinstance(each, str) else each for each in listed])
