"""Texts as the ids of their terms, or as counts of these: what `TextVectorization` computes (ops layer)."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stratax.base.recording import recordable
from stratax.base.typing import TensorLike
from stratax.data.elements import as_array

_PUNCTUATION = b"!\"#$%&()*+,-./:;<=>?@[\\]^_`{|}~'"
# What is done with texts first.
STANDARDS: dict[Any, Callable[[bytes], bytes]] = {
    None: lambda text: text,
    "lower": bytes.lower,
    "strip_punctuation": lambda text: text.translate(None, _PUNCTUATION),
    "lower_and_strip_punctuation": lambda text: text.lower().translate(None, _PUNCTUATION),
}
# How they are split.
SPLITS: dict[Any, Callable[[bytes], list[bytes]]] = {
    None: lambda text: [text],
    "whitespace": bytes.split,
    "character": lambda text: [letter.encode() for letter in text.decode("utf-8", "replace")],
}


@recordable
def text_ids(
    texts: TensorLike,
    table: Any,
    standardize: str | None = None,
    split: str | None = None,
    ngrams: Sequence[int] | None = None,
    length: int | None = None,
    counts: str | None = None,
) -> np.ndarray:
    """Return the ids of the terms of texts, or how often each id is among them.

    Args:
        texts: Texts in one dimension, or in two of which the last has size 1.
        table: A table of `tf.lookup` from terms to ids; those below 0 are left out of counts.
        standardize: What is done with texts first: a key of `STANDARDS`.
        split: How they are split: a key of `SPLITS`.
        ngrams: How many neighbouring words make a term; None for one.
        length: How many ids of each text, filled up with 0; of counts, how many ids there are.
        counts: "multi_hot", "count" or "tf_idf"; None for ids.

    Returns:
        int64 of shape (texts, length).
    """
    array = np.asarray(as_array(texts))
    array = array[..., 0] if array.ndim > 1 else array
    rows = split_rows([STANDARDS[standardize](text) for text in array.tolist()], split, ngrams)
    terms = np.array([*join_terms(rows), None], object)[:-1]
    found = divide_ids(np.asarray(table.lookup(terms)), rows)
    return pad_rows(found, length) if counts is None else count_ids(found, int(length or 0), counts)


def join_terms(rows: list[list[bytes]]) -> list[bytes]:
    """Return the terms of all rows together: each call of what looks them up costs something."""
    return [term for row in rows for term in row]


def divide_ids(ids: np.ndarray, rows: list[list[bytes]]) -> list[np.ndarray]:
    """Return the ids of each row, of those of all."""
    return np.split(ids, np.cumsum([len(row) for row in rows])[:-1]) if rows else []


def split_rows(texts: list[bytes], split: str | None, widths: Sequence[int] | None) -> list[list[bytes]]:
    """Return the terms of texts.

    Args:
        texts: The texts.
        split: A key of `SPLITS`.
        widths: How many neighbouring words make a term; None for one.
    """
    return [with_ngrams(SPLITS[split](text), widths) for text in texts]


def with_ngrams(words: list[bytes], widths: Sequence[int] | None) -> list[bytes]:
    """Return neighbouring words as one, for each of some widths in their order; words as they are for None."""
    if widths is None:
        return words
    return [b" ".join(words[i : i + width]) for width in widths for i in range(len(words) - width + 1)]


def pad_rows(rows: list[np.ndarray], length: int | None) -> np.ndarray:
    """Return ids in rows of one length, that of the longest for None, filled up with 0."""
    length = max(map(len, rows), default=0) if length is None else length
    result = np.zeros((len(rows), length), np.int64)
    for place, row in enumerate(rows):
        result[place, : len(row)] = row[:length]
    return result


def count_ids(rows: list[np.ndarray], depth: int, mode: str) -> np.ndarray:
    """Return how often each of `depth` ids is in each row; for "multi_hot" and "one_hot", whether it is."""
    result = np.zeros((len(rows), depth), np.int64)
    numbers = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
    flat = np.concatenate([np.zeros(0, np.int64), *rows])
    kept = (flat >= 0) & (flat < depth)
    np.add.at(result, (numbers[kept], flat[kept]), 1)
    return np.minimum(result, 1) if mode in ("multi_hot", "one_hot") else result
