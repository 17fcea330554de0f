"""`tf.keras.layers.TextVectorization` without TensorFlow (keras2 layer)."""

from collections.abc import Callable, Sequence
from typing import Any

import keras
import numpy as np
from keras import ops

from stratax.base.recording import RECORDER
from stratax.base.shown import shown
from stratax.base.typing import Array, PyTree, TensorLike
from stratax.data.elements import RaggedTensor, as_array, as_objects
from stratax.data.vectorise import make_tensors
from stratax.errors import BadArgumentError, BadTypeError
from stratax.seams import keras2 as seam
from stratax.tensorflow.keras2 import layer_text
from stratax.tensorflow.keras2.lookups import HostLayer, StringLookup, TermIds, batches_of
from stratax.tensorflow.ops.text import vectorized


class TextVectorization(HostLayer, keras.layers.TextVectorization):
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
        standardize: Callable[..., Any] | str | None = "lower_and_strip_punctuation",
        split: Callable[..., Any] | str | None = "whitespace",
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
        has_input_vocabulary: bool | None = None,
        vocabulary_size: int | None = None,
        trainable: bool = True,
        dtype: object = None,
        **kwargs: Any,
    ) -> None:
        # What Keras has in its configurations, and what follows from the rest here.
        del vocabulary_size, trainable, dtype
        super().__init__(name=name, **kwargs)
        if not callable(standardize) and standardize not in vectorized.STANDARDS:
            raise BadArgumentError(
                f"standardize is a function or one of {list(vectorized.STANDARDS)}. Received: "
                f"standardize={shown(standardize)}."
            )
        if not callable(split) and split not in vectorized.SPLITS:
            raise BadArgumentError(
                f"split is a function or one of {list(vectorized.SPLITS)}. Received: split={shown(split)}."
            )
        if ragged and output_mode != "int":
            raise BadArgumentError(
                "Rows of different lengths are made of numbers. Expected: output_mode='int' with ragged=True. "
                f"Received: output_mode={shown(output_mode)}. Leave ragged out."
            )
        self.ragged, self.encoding = ragged, encoding
        self.standardize, self.split = standardize, split
        self.ngrams = tuple(ngrams) if isinstance(ngrams, list) else ngrams
        self.output_sequence_length = output_sequence_length
        self._lookup = StringLookup(
            max_tokens=max_tokens,
            # As Keras: padding gets 0, and is left out of what is counted.
            mask_token="",
            vocabulary=vocabulary,
            idf_weights=idf_weights,
            output_mode=output_mode,
            pad_to_max_tokens=pad_to_max_tokens,
            sparse=sparse,
            has_input_vocabulary=has_input_vocabulary,
        )

    @property
    def _has_input_vocabulary(self) -> bool:
        # As Keras calls it, whose FeatureSpace asks.
        return self._lookup._has_input_vocabulary

    def adapt(self, data: TensorLike, batch_size: int | None = None, steps: int | None = None) -> None:
        """Learn the vocabulary: the most frequent terms first.

        Args:
            data: A Dataset of batches of texts, or an array of texts.
            batch_size: No effect.
            steps: How many batches are taken; None means all.
        """
        del batch_size
        self.reset_state()
        for number, batch in enumerate(batches_of(data)):
            if steps is not None and number >= steps:
                break
            self.update_state(batch)
        self.finalize_state()

    def set_vocabulary(self, vocabulary: TensorLike, idf_weights: TensorLike = None) -> None:
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

    def _rows(self) -> "Rows":
        return Rows(self.standardize, self.split, self.ngrams)

    def _ids(self, *, pads: bool) -> "TextIds":
        length = self.output_sequence_length if pads else None
        return TextIds(self._rows(), self._lookup.ids(), length, pads=pads)

    def update_state(self, data: TensorLike) -> None:
        """Count the terms of a batch of texts."""
        for terms in self._rows()(np.asarray(as_array(data)).ravel()):
            self._lookup.update_state(np.array([*terms, None], object)[:-1])

    def finalize_state(self) -> None:
        """Make the vocabulary of what was counted."""
        self._lookup.finalize_state()

    def reset_state(self) -> None:
        """Forget what was counted."""
        self._lookup.reset_state()

    def compute(self, values: np.ndarray) -> Any:
        """Return the numbers of texts, a row for each; of a single text, one row."""
        if values.dtype.kind not in "OSU" and values.size:
            raise BadTypeError(
                f"TextVectorization {shown(self.name)} takes text. Expected: an input of dtype='string'. Received: "
                f"{shown(values)}."
            )
        mode = self._lookup.output_mode
        if mode != "int":
            result: Any = TextCounts(self._ids(pads=False), self._lookup._depth(), mode)(
                np.atleast_1d(values)
            )
            weights = self._lookup._known.weights
            if mode == "tf_idf":
                result = (result * weights).astype(keras.backend.floatx())
        elif self.ragged and values.ndim:
            ids = [row[: self.output_sequence_length] for row in self._ids(pads=False).rows(values)]
            flat = np.concatenate([np.zeros(0, np.int64), *ids])
            return RaggedTensor.from_row_lengths(flat, np.array(list(map(len, ids)), np.int64))
        else:
            result = self._ids(pads=True)(np.atleast_1d(values))
        return result if values.ndim else result[0]

    def in_model(self, inputs: Array) -> Any:
        """Return the numbers of texts that have no value yet.

        Raises:
            BadTypeError: They are no texts, or rows would have different lengths.
        """
        if self.ragged:
            raise BadTypeError(
                "Rows of different lengths are no part of a model's step. Expected: ragged=False, with padding. "
                f"Received: ragged=True of {shown(self.name)}. Call the layer in dataset.map, with ragged=True there."
            )
        mode, rows = self._lookup.output_mode, inputs.shape[0] if len(inputs.shape) else 1
        if RECORDER.get() is not None:
            return self._record(inputs)
        if mode == "int":
            return layer_text.compute(
                self._ids(pads=True),
                [inputs],
                name=self.name,
                dtype=np.int64,
                shape=(rows, self.output_sequence_length),
                fill=0,
            )
        depth = self._lookup._depth()
        counts = layer_text.compute(
            TextCounts(self._ids(pads=False), depth, mode),
            [inputs],
            name=self.name,
            dtype=np.int32,
            shape=(rows, depth),
        )
        return self._weigh(counts)

    def _weigh(self, counts: Array | np.ndarray) -> Any:
        counts = ops.cast(counts, keras.backend.floatx())
        weights = self._lookup._known.weights
        return counts if weights is None else counts * weights.astype(counts.dtype)

    def _record(self, inputs: Array) -> Any:
        """Return the numbers of texts by functions that an export can call."""
        ids, mode, split = self._ids(pads=True), self._lookup.output_mode, self.split
        if callable(split):
            raise BadTypeError(
                f"A function that splits texts is no part of an export. Expected: split='whitespace' or 'character'. "
                f"Received: split={shown(self.split)} of {shown(self.name)}."
            )
        if mode == "int" and self.output_sequence_length is None:
            raise BadTypeError(
                "The program of an export has arrays of known sizes. Expected: TextVectorization with "
                f"output_sequence_length. Received: None, of {shown(self.name)}. Give it a length."
            )
        if callable(self.standardize):
            inputs = self.standardize(inputs)
        made = vectorized.text_ids(
            inputs,
            ids.vocabulary.table(np.dtype(object)),
            standardize=None if callable(self.standardize) else self.standardize,
            split=split,
            ngrams=self._rows().widths,
            length=self.output_sequence_length if mode == "int" else self._lookup._depth(),
            counts=None if mode == "int" else mode,
        )
        return made if mode == "int" else self._weigh(made)

    def compute_output_shape(self, input_shape: Sequence[int | None]) -> Any:
        """Return the shape of what the layer makes of texts of a shape."""
        rows = input_shape[0] if len(input_shape) else 1
        if self._lookup.output_mode == "int":
            return (rows, self.output_sequence_length)
        return (rows, *self._lookup.compute_output_shape((None,)))

    def compute_output_spec(self, inputs: Array) -> Any:
        """Return what stands for the result of a symbolic tensor."""
        if isinstance(inputs, keras.KerasTensor) and inputs.dtype != "string":
            raise BadTypeError(
                f"TextVectorization {shown(self.name)} takes an input of dtype='string'. Received: {shown(inputs)}."
            )
        dtype = "int64" if self._lookup.output_mode == "int" else keras.backend.floatx()
        return keras.KerasTensor(self.compute_output_shape(inputs.shape), dtype)

    def save_own_variables(self, store: PyTree) -> None:
        """Write the weights of "tf_idf", where Keras has them."""
        self._lookup.save_own_variables(store)

    def load_own_variables(self, store: PyTree) -> None:
        """Read the weights of "tf_idf"."""
        self._lookup.load_own_variables(store)

    def load_assets(self, dir_path: str | None) -> None:
        """Read the vocabulary of a model that Keras has saved on TensorFlow.

        Args:
            dir_path: The folder in which it is; None where the file has none for this layer.
        """
        self._lookup.load_assets(dir_path)

    def get_config(self) -> dict[str, Any]:
        """Return what the layer is made of, with its vocabulary."""
        lookup = self._lookup.get_config()
        kept = ("max_tokens", "output_mode", "pad_to_max_tokens", "vocabulary", "idf_weights", "sparse")
        return {
            **keras.Layer.get_config(self),
            **{name: lookup[name] for name in kept},
            "standardize": self.standardize,
            "split": self.split,
            "ngrams": self.ngrams,
            "output_sequence_length": self.output_sequence_length,
            "ragged": self.ragged,
            "encoding": self.encoding,
            "has_input_vocabulary": lookup["has_input_vocabulary"],
        }

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """Return a layer that is made as another was.

        Args:
            config: What the other's `get_config` gave, perhaps as a file had it.
        """
        made = {
            name: keras.saving.deserialize_keras_object(config[name])
            for name in ("standardize", "split")
            if isinstance(config.get(name), dict)
        }
        return cls(**{**config, **made})


class Rows:
    """From texts to a row of terms for each; it can be pickled.

    Args:
        standardize: The name of what is done with texts first, or a function of them.
        split: The name of how they are split, or a function of them.
        ngrams: How many neighbouring words make a term.
    """

    def __init__(
        self,
        standardize: Callable[..., Any] | str | None,
        split: Callable[..., Any] | str | None,
        ngrams: int | Sequence[int] | None,
    ) -> None:
        self._standardize, self._split = standardize, split
        self.widths = tuple(range(1, ngrams + 1)) if isinstance(ngrams, int) else ngrams

    def __call__(self, texts: np.ndarray) -> list[list[bytes]]:
        """Return the terms of texts in one dimension."""
        if callable(self._standardize):
            texts = np.asarray(as_array(self._standardize(make_tensors(np.asarray(as_array(texts))))))
        name = None if callable(self._standardize) else self._standardize
        standard = vectorized.STANDARDS[name]
        encoded = [
            standard(text if isinstance(text, bytes) else str(text).encode()) for text in texts.tolist()
        ]
        if not callable(self._split):
            return vectorized.split_rows(encoded, self._split, self.widths)
        found = self._split(make_tensors(as_objects(encoded)))
        rows = found.to_list() if isinstance(found, RaggedTensor) else np.asarray(as_array(found)).tolist()
        return [vectorized.with_ngrams(row, self.widths) for row in rows]


class TextIds:
    """From texts to the ids of their terms; it can be pickled.

    Args:
        rows: Makes terms of texts.
        vocabulary: Makes ids of terms.
        length: How many of each text; None for those of the longest.
        pads: Whether rows are filled up.

    Attributes:
        vocabulary: The same.
    """

    def __init__(self, rows: Rows, vocabulary: TermIds, length: int | None, *, pads: bool) -> None:
        self._rows, self._length, self._pads = rows, length, pads
        self.vocabulary = vocabulary

    def rows(self, texts: np.ndarray) -> list[np.ndarray]:
        """Return the ids of each text.

        Raises:
            BadArgumentError: The texts have more than one dimension, or a last one of size 1.
        """
        if texts.ndim > 1 and texts.shape[-1] == 1:
            texts = texts[..., 0]
        if texts.ndim > 1:
            raise BadArgumentError(f"Expected texts in one dimension. Received: the shape {texts.shape}.")
        rows = self._rows(texts.ravel())
        return vectorized.divide_ids(self.vocabulary.of_terms(vectorized.join_terms(rows)), rows)

    def __call__(self, texts: np.ndarray) -> np.ndarray:
        """Return the ids of texts, filled up with 0 to one length."""
        return vectorized.pad_rows(self.rows(texts), self._length)


class TextCounts:
    """From texts to how often each term of a vocabulary is in them; it can be pickled.

    Args:
        ids: Gives the ids of texts.
        depth: How many ids there are.
        mode: "multi_hot" for whether it is there at all.
    """

    def __init__(self, ids: TextIds, depth: int, mode: str) -> None:
        self._ids, self._depth, self._mode = ids, depth, mode

    def __call__(self, texts: np.ndarray) -> np.ndarray:
        """Return the counts, as int64 of shape (texts, depth)."""
        return vectorized.count_ids(self._ids.rows(texts), self._depth, self._mode)


seam.stand_for(TextVectorization, "keras.layers.TextVectorization")
