"""`tf.keras.layers.TextVectorization` without TensorFlow (keras2 layer)."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from stratax.base.shown import shown
from stratax.base.typing import TensorLike
from stratax.data.elements import RaggedTensor, as_array, as_objects
from stratax.data.vectorise import make_tensors
from stratax.errors import BadArgumentError
from stratax.tensorflow.keras2.lookups import HostLayer, StringLookup, batches_of

_PUNCTUATION = re.compile(rb"[!\"#$%&()\*\+,-\./:;<=>?@\[\\\]^_`{|}~']")
_STANDARDS: dict[Any, Callable[[bytes], bytes]] = {
    None: lambda text: text,
    "lower": bytes.lower,
    "strip_punctuation": lambda text: _PUNCTUATION.sub(b"", text),
    "lower_and_strip_punctuation": lambda text: _PUNCTUATION.sub(b"", text.lower()),
}
_SPLITS: dict[Any, Callable[[bytes], list[bytes]]] = {
    None: lambda text: [text],
    "whitespace": bytes.split,
    "character": lambda text: [letter.encode() for letter in text.decode("utf-8", "replace")],
}


class TextVectorization(HostLayer):
    """Makes numbers of texts: standardised, split, and looked up, as `tf.keras.layers.TextVectorization`, on the host.

    Args:
        max_tokens: How many terms there are at most, with special ones.
        standardize: "lower_and_strip_punctuation", "lower", "strip_punctuation", None, or a function of texts.
        split: "whitespace", "character", None, or a function from texts to rows of their parts.
        ngrams: Up to how many neighbouring words make a term, or a tuple of such numbers.
        output_mode: "int", "multi_hot", "count" or "tf_idf".
        output_sequence_length: For "int", the length of each result; None means that of the longest text.
        pad_to_max_tokens: Whether all but "int" have the width `max_tokens`.
        vocabulary: The terms, or the path of a file with one in each line; None means that `adapt` learns them.
        idf_weights: For "tf_idf", a weight for each term.
        sparse: False; there are no sparse results.
        ragged: Whether "int" gives a RaggedTensor, without padding.
        encoding: "utf-8".
        name: The layer's name.
        **kwargs: Of `tf.keras.layers.Layer`.
    """

    def __init__(
        self,
        max_tokens: int | None = None,
        standardize: object = "lower_and_strip_punctuation",
        split: object = "whitespace",
        ngrams: int | tuple[int, ...] | None = None,
        output_mode: str = "int",
        output_sequence_length: int | None = None,
        pad_to_max_tokens: bool = False,
        vocabulary: object = None,
        idf_weights: object = None,
        sparse: bool = False,
        ragged: bool = False,
        encoding: str = "utf-8",
        name: str | None = None,
        **kwargs: object,
    ) -> None:
        super().__init__(name=name, **kwargs)
        if not callable(standardize) and standardize not in _STANDARDS:
            raise BadArgumentError(
                f"standardize is a function or one of {list(_STANDARDS)}. Received: standardize={shown(standardize)}."
            )
        if not callable(split) and split not in _SPLITS:
            raise BadArgumentError(
                f"split is a function or one of {list(_SPLITS)}. Received: split={shown(split)}."
            )
        if ragged and output_mode != "int":
            raise BadArgumentError(
                "Rows of different lengths are made of numbers. Expected: output_mode='int' with ragged=True. "
                f"Received: output_mode={shown(output_mode)}. Leave ragged out."
            )
        self.ragged = ragged
        self.standardize, self.split, self.ngrams = standardize, split, ngrams
        self.output_sequence_length = output_sequence_length
        self._lookup = StringLookup(
            max_tokens=max_tokens,
            mask_token="" if output_mode == "int" else None,
            vocabulary=vocabulary,
            idf_weights=idf_weights,
            output_mode=output_mode,
            pad_to_max_tokens=pad_to_max_tokens,
            sparse=sparse,
        )
        self.built = True

    def adapt(self, data: TensorLike, batch_size: int | None = None, steps: int | None = None) -> None:
        """Learn the vocabulary: the most frequent terms first.

        Args:
            data: A Dataset of batches of texts, or an array of texts.
            batch_size: No effect.
            steps: How many batches are taken; None means all.
        """
        self._lookup.reset_state()
        for number, batch in enumerate(batches_of(data)):
            if steps is not None and number >= steps:
                break
            for terms in self._split(np.asarray(batch).ravel()):
                self._lookup.update_state(np.array([*terms, None], object)[:-1])
        self._lookup.finalize_state()

    def set_vocabulary(self, vocabulary: Any, idf_weights: Any = None) -> None:
        """Take a vocabulary.

        Args:
            vocabulary: The terms, or the path of a file with one in each line.
            idf_weights: For "tf_idf", a weight for each term.
        """
        self._lookup.set_vocabulary(vocabulary, idf_weights)

    def get_vocabulary(self, include_special_tokens: bool = True) -> list[str]:
        """Return the terms, in the order of their numbers.

        Args:
            include_special_tokens: Whether those for padding and unknown ones stand in front.
        """
        return self._lookup.get_vocabulary(include_special_tokens)

    def vocabulary_size(self) -> int:
        """Return how many terms there are, with those for padding and unknown ones."""
        return self._lookup.vocabulary_size()

    def _split(self, texts: np.ndarray) -> list[list[bytes]]:
        if callable(self.standardize):
            texts = np.asarray(as_array(self.standardize(make_tensors(np.asarray(as_array(texts))))))
        standard = _STANDARDS[None if callable(self.standardize) else self.standardize]
        encoded = [
            standard(text if isinstance(text, bytes) else str(text).encode()) for text in texts.tolist()
        ]
        if callable(self.split):
            found = self.split(make_tensors(as_objects(encoded)))
            rows = (
                found.to_list() if isinstance(found, RaggedTensor) else np.asarray(as_array(found)).tolist()
            )
        else:
            rows = list(map(_SPLITS[self.split], encoded))
        return list(map(self._with_ngrams, rows))

    def _with_ngrams(self, words: list[bytes]) -> list[bytes]:
        if self.ngrams is None:
            return words
        widths = range(1, self.ngrams + 1) if isinstance(self.ngrams, int) else self.ngrams
        return [b" ".join(words[i : i + width]) for width in widths for i in range(len(words) - width + 1)]

    def compute(self, values: np.ndarray) -> Any:
        """Return the numbers of texts, a row for each; of a single text, one row."""
        if values.ndim > 1 and values.shape[-1] == 1:
            values = values[..., 0]
        if values.ndim > 1:
            raise BadArgumentError(f"Expected texts in one dimension. Received: the shape {values.shape}.")
        rows = [np.array([*terms, None], object)[:-1] for terms in self._split(np.atleast_1d(values).ravel())]
        if self._lookup.output_mode == "int":
            ids = [self._lookup.compute(row) for row in rows]
            if self.ragged and values.ndim:
                ids = [row[: self.output_sequence_length] for row in ids]
                flat = np.concatenate([np.zeros(0, np.int64), *ids])
                return RaggedTensor.from_row_lengths(flat, np.array(list(map(len, ids)), np.int64))
            result: Any = self._pad(ids)
        else:
            result = np.stack([self._lookup.compute(row) for row in rows])
        return result if values.ndim else result[0]

    def _pad(self, rows: list[np.ndarray]) -> np.ndarray:
        length = self.output_sequence_length
        length = max(map(len, rows), default=0) if length is None else length
        result = np.zeros((len(rows), length), np.int64)
        for place, row in enumerate(rows):
            result[place, : len(row)] = row[:length]
        return result

    def get_config(self) -> dict[str, Any]:
        """Return what the layer is made of, with its vocabulary."""
        lookup = self._lookup.get_config()
        kept = ("max_tokens", "output_mode", "pad_to_max_tokens", "vocabulary", "idf_weights")
        return {
            **super().get_config(),
            **{name: lookup[name] for name in kept},
            "standardize": self.standardize,
            "split": self.split,
            "ngrams": self.ngrams,
            "output_sequence_length": self.output_sequence_length,
            "ragged": self.ragged,
        }
