"""Layers that make numbers of text and categories, without TensorFlow (keras2 layer).

They compute on the host, where text is: in a function given to `Dataset.map`, or called with NumPy arrays and lists.
Their numbers are those of Keras' layers on TensorFlow.
"""

import collections
import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any

import jax
import keras
import numpy as np

from stratax.base.recording import RECORDER
from stratax.base.shown import shown
from stratax.base.typing import TensorLike
from stratax.data.elements import RaggedTensor, as_array, map_flat
from stratax.data.vectorise import make_tensors
from stratax.errors import BadArgumentError, BadTypeError
from stratax.io import gfile
from stratax.tensorflow.ops.text import strings

_MODES = ("int", "one_hot", "multi_hot", "count", "tf_idf")


class HostLayer(keras.Layer):
    """A layer that computes on the host with NumPy.

    A subclass has `compute(values)`, which takes and returns a NumPy array.
    """

    def __call__(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """Return the result for values on the host.

        Raises:
            BadTypeError: For a symbolic tensor, or what is traced. Text does not exist on a device.
        """
        if isinstance(inputs, (keras.KerasTensor, jax.core.Tracer)):
            raise not_in_models(self, f"inputs={shown(inputs)}")
        recorder = RECORDER.get()
        if recorder is not None and recorder.is_value(inputs):
            raise BadTypeError(
                f"{type(self).__name__} is no part of an export, in which the host calls functions of tf alone. "
                "Expected: a signature that takes what the layer gives, or tf.strings and a tf.lookup table in its "
                f"place. Received: inputs={shown(inputs)}."
            )
        if isinstance(inputs, RaggedTensor):
            return map_flat(self._of_flat, inputs)
        return make_tensors(self.compute(np.asarray(as_array(inputs))))

    def _of_flat(self, values: TensorLike) -> Any:
        """Return what becomes of the values of rows, one for each.

        Raises:
            BadArgumentError: If the layer makes one result of a whole row.
        """
        made = self.compute(np.asarray(as_array(values)))
        if made.shape != np.shape(values):
            raise BadArgumentError(
                f"{type(self).__name__} takes rows of different lengths where it makes a number of each value. "
                f"Expected: output_mode='int', or a dense array. Received: {shown(values)} in rows. Use to_tensor()."
            )
        return made

    def compute(self, values: np.ndarray) -> np.ndarray:
        """Return what the layer makes of values."""
        raise NotImplementedError(f"{type(self).__name__} needs a method compute.")


def not_in_models(layer: HostLayer, received: str) -> BadTypeError:
    """Return the error for a layer that computes on the host and is made a part of a model.

    Args:
        layer: The layer.
        received: What tells that it is.
    """
    return BadTypeError(
        f"{type(layer).__name__} computes on the host, and can't be a part of a model. Expected: values of a pipeline, "
        "as in dataset.map(lambda x, y: (layer(x), y)), or arrays, as in model.predict(layer(texts)). "
        f"Received: {received}."
    )


def _as_texts(values: np.ndarray) -> np.ndarray:
    """Return values as an array of `bytes`: numbers as they are written."""
    flat = [text if isinstance(text, bytes) else str(text).encode() for text in values.ravel().tolist()]
    return np.array([*flat, None], object)[:-1].reshape(values.shape)


def encode_ids(
    ids: np.ndarray, mode: str, depth: int, dtype: str, weights: np.ndarray | None = None
) -> np.ndarray:
    """Return what becomes of ids in an output mode.

    Args:
        ids: Whole numbers from 0 to `depth`.
        mode: "int", "one_hot", "multi_hot", "count" or "tf_idf".
        depth: How many ids there are.
        dtype: Of what is no id.
        weights: What "tf_idf" multiplies counts with.
    """
    if mode == "int":
        return ids.astype(np.int64)
    if mode == "one_hot":
        ids = ids[..., 0] if ids.ndim > 1 and ids.shape[-1] == 1 else ids
        return (np.atleast_1d(ids)[..., None] == np.arange(depth)).astype(dtype)
    counts = (np.atleast_1d(ids)[..., None] == np.arange(depth)).sum(axis=-2).astype(dtype)
    if mode == "multi_hot":
        return (counts > 0).astype(dtype)
    return counts if weights is None else (counts * weights).astype(keras.backend.floatx())


@dataclasses.dataclass(slots=True)
class _Known:
    """What a layer has learnt, apart from it: Keras tracks a layer's lists and dicts, and changes them."""

    terms: list[Any] = dataclasses.field(default_factory=list)
    places: dict[Any, int] = dataclasses.field(default_factory=dict)
    weights: np.ndarray | None = None
    is_given: bool = False
    counts: collections.Counter[Any] = dataclasses.field(default_factory=collections.Counter)
    documents: collections.Counter[Any] = dataclasses.field(default_factory=collections.Counter)
    num_documents: int = 0


class _Lookup(HostLayer):
    """Numbers terms by a vocabulary, or gives the terms of numbers."""

    _is_text = True

    def __init__(
        self,
        max_tokens: int | None,
        num_oov_indices: int,
        mask_token: object,
        oov_token: object,
        vocabulary: object,
        idf_weights: object,
        invert: bool,
        output_mode: str,
        pad_to_max_tokens: bool,
        **kwargs: object,
    ) -> None:
        super().__init__(**kwargs)
        mode = {"binary": "multi_hot", "tf-idf": "tf_idf"}.get(output_mode, output_mode)
        if mode not in _MODES:
            raise BadArgumentError(
                f"output_mode is one of {_MODES}. Received: output_mode={shown(output_mode)}."
            )
        if invert and mode != "int":
            raise BadArgumentError(
                f"invert=True goes with output_mode='int'. Received: {shown(output_mode)}."
            )
        self.max_tokens, self.num_oov_indices, self.output_mode = max_tokens, num_oov_indices, mode
        self.mask_token, self.oov_token, self.invert = mask_token, oov_token, invert
        self.pad_to_max_tokens = pad_to_max_tokens
        self._known = _Known()
        self.reset_state()
        self.built = True
        if vocabulary is not None:
            self.set_vocabulary(vocabulary, idf_weights)
            self._known.is_given = True

    def _specials(self) -> list[Any]:
        masks = [self.mask_token] if self.mask_token is not None and self.output_mode == "int" else []
        return [*masks, *[self.oov_token] * self.num_oov_indices]

    def _plain(self, value: Any) -> Any:
        """Return a term as the vocabulary has it."""
        if self._is_text:
            return value.decode() if isinstance(value, bytes) else str(value)
        return int(value)

    def set_vocabulary(self, vocabulary: Any, idf_weights: Any = None) -> None:
        """Take a vocabulary.

        Args:
            vocabulary: The terms, with or without those for masks and unknown ones in front, or the path of a file
            with
                one in each line.
            idf_weights: For "tf_idf", a weight for each term.

        Raises:
            BadArgumentError: If a term comes twice, there are too many or none, or weights do not fit.
        """
        if isinstance(vocabulary, str):
            with gfile.GFile(vocabulary) as file:
                vocabulary = file.read().splitlines()
        if (idf_weights is not None) != (self.output_mode == "tf_idf"):
            raise BadArgumentError(
                "Weights belong to output_mode='tf_idf'. Received: "
                f"output_mode={shown(self.output_mode)}, idf_weights={shown(idf_weights)}."
            )
        terms = [self._plain(term) for term in np.asarray(vocabulary, object).tolist()]
        specials = self._specials()
        has_specials = bool(specials) and terms[: len(specials)] == specials
        tokens = terms[len(specials) :] if has_specials else terms
        repeated = [term for term, count in collections.Counter(tokens).items() if count > 1]
        if not terms or repeated or (self.max_tokens and len(specials) + len(tokens) > self.max_tokens):
            raise BadArgumentError(
                f"A vocabulary has different terms, at least one, and with {len(specials)} special ones at most "
                f"max_tokens={self.max_tokens}. Received: {len(tokens)} terms, repeated: {shown(repeated)}."
            )
        self._take(tokens)
        if idf_weights is not None:
            weights = np.asarray(idf_weights, np.float64)
            if weights.shape != (len(terms),):
                raise BadArgumentError(
                    f"There has to be one weight for each of {len(terms)} terms. Received: the shape {weights.shape}."
                )
            self._take_weights(weights, 0 if has_specials else len(specials))

    def _take(self, tokens: Sequence[Any]) -> None:
        self._known.terms = [*self._specials(), *tokens]
        start = len(self._known.terms) - len(tokens)
        self._known.places = {token: place for place, token in enumerate(tokens, start)}

    def _take_weights(self, weights: np.ndarray, front: int) -> None:
        padded = np.concatenate([np.full(front, weights.mean()), weights])
        self._known.weights = np.pad(padded, (0, self._depth() - len(padded)))

    def _depth(self) -> int:
        return self.max_tokens if self.pad_to_max_tokens and self.max_tokens else len(self._known.terms)

    def get_vocabulary(self, include_special_tokens: bool = True) -> list[Any]:
        """Return the terms, in the order of their numbers.

        Args:
            include_special_tokens: Whether those for masks and unknown ones stand in front.
        """
        return self._known.terms if include_special_tokens else self._known.terms[len(self._specials()) :]

    def vocabulary_size(self) -> int:
        """Return how many terms there are, with those for masks and unknown ones."""
        return len(self._known.terms) or len(self._specials())

    def reset_state(self) -> None:
        """Forget what was counted."""
        self._known.counts.clear()
        self._known.documents.clear()
        self._known.num_documents = 0

    def adapt(self, data: TensorLike, steps: int | None = None) -> None:
        """Learn the vocabulary: the most frequent terms first.

        Args:
            data: A Dataset of batches, or an array; one with one dimension has a term for each example.
            steps: How many batches are taken; None means all.
        """
        self.reset_state()
        for number, batch in enumerate(batches_of(data)):
            if steps is not None and number >= steps:
                break
            self.update_state(batch)
        self.finalize_state()

    def update_state(self, data: TensorLike) -> None:
        """Count the terms of a batch.

        Args:
            data: An array; one with one dimension is one document.
        """
        if self._known.is_given:
            raise BadArgumentError(
                "The layer has a vocabulary already, and can't learn another one with adapt."
            )
        values = np.asarray(data)
        rows = values.reshape(1, -1) if values.ndim < 2 else values.reshape(len(values), -1)
        for row in rows:
            terms = [self._plain(term) for term in row.tolist()]
            self._known.counts.update(terms)
            self._known.documents.update(set(terms))
        self._known.num_documents += len(rows)

    def finalize_state(self) -> None:
        """Make the vocabulary of what was counted."""
        for special in (self.mask_token, self.oov_token):
            self._known.counts.pop(special, None)
        if self._known.is_given or not self._known.counts:
            return
        # As Keras does: equally frequent terms from the last to the first. Text in the order of its bytes.
        order = {term: str(term).encode() if self._is_text else term for term in self._known.counts}
        tokens = sorted(
            self._known.counts, key=lambda term: (self._known.counts[term], order[term]), reverse=True
        )
        specials = len(self._specials())
        tokens = tokens[: self.max_tokens - specials] if self.max_tokens else tokens
        self._take(tokens)
        if self.output_mode == "tf_idf":
            seen = np.array([self._known.documents[token] for token in tokens])
            self._take_weights(np.log(1 + self._known.num_documents / (1 + seen)), specials)

    def compute(self, values: np.ndarray) -> np.ndarray:
        """Return the numbers of terms, or the terms of numbers."""
        if not self._known.terms:
            raise BadArgumentError(
                f"{type(self).__name__} has no vocabulary. Call adapt with the data, or give vocabulary."
            )
        if self.invert:
            return self._invert(values)
        ids = np.array([self._place(each) for each in values.ravel().tolist()], np.int64).reshape(
            values.shape
        )
        return encode_ids(ids, self.output_mode, self._depth(), "int64", self._known.weights)

    def _place(self, value: TensorLike) -> int:
        term = self._plain(value)
        place = self._known.places.get(term)
        if place is not None:
            return place
        has_mask = self.mask_token is not None and self.output_mode == "int"
        if term == self.mask_token and has_mask:
            return 0
        if self.num_oov_indices == 0:
            raise BadArgumentError(
                f"A value is not in the vocabulary, and num_oov_indices is 0. Received: {shown(value)}."
            )
        return int(has_mask) + (self._bucket(term) if self.num_oov_indices > 1 else 0)

    def _bucket(self, term: object) -> int:
        raise NotImplementedError

    def _invert(self, values: np.ndarray) -> np.ndarray:
        known = [
            self._known.terms[place] if 0 <= place < len(self._known.terms) else self.oov_token
            for place in values.ravel().tolist()
        ]
        if self._is_text:
            return _as_texts(np.array([*known, None], object)[:-1]).reshape(values.shape)
        return np.array(known, np.int64).reshape(values.shape)

    def get_config(self) -> dict[str, Any]:
        """Return what the layer is made of, with its vocabulary."""
        return {
            **super().get_config(),
            "max_tokens": self.max_tokens,
            "num_oov_indices": self.num_oov_indices,
            "mask_token": self.mask_token,
            "oov_token": self.oov_token,
            "invert": self.invert,
            "output_mode": self.output_mode,
            "pad_to_max_tokens": self.pad_to_max_tokens,
            "vocabulary": self._known.terms or None,
            "idf_weights": None
            if self._known.weights is None
            else self._known.weights[: len(self._known.terms)].tolist(),
        }


def batches_of(data: TensorLike) -> Iterable[Any]:
    """Return the batches to learn from: those of a Dataset, or an array as one.

    Args:
        data: A Dataset or another iterable of batches, or an array or list, whose elements are examples.
    """
    if isinstance(data, (list, tuple, np.ndarray)) or not hasattr(data, "__iter__"):
        values = np.asarray(data)
        return [values[:, None] if values.ndim == 1 else values]
    return data


class StringLookup(_Lookup):
    """Numbers strings by a vocabulary, as `tf.keras.layers.StringLookup`, on the host.

    Args:
        max_tokens: How many terms there are at most, with special ones.
        num_oov_indices: How many numbers strings get that are not in the vocabulary.
        mask_token: The string that gets 0.
        oov_token: What stands for unknown strings.
        vocabulary: The strings, or the path of a file with one in each line; None means that `adapt` learns them.
        idf_weights: For "tf_idf", a weight for each string.
        invert: Whether numbers become strings.
        output_mode: "int", "one_hot", "multi_hot", "count" or "tf_idf".
        pad_to_max_tokens: Whether all but "int" have the width `max_tokens`.
        sparse: False; there are no sparse results.
        encoding: "utf-8".
        name: The layer's name.
        salt: A number or two that change the numbers of unknown strings.
        **kwargs: Of `tf.keras.layers.Layer`.
    """

    def __init__(
        self,
        max_tokens: int | None = None,
        num_oov_indices: int = 1,
        mask_token: str | None = None,
        oov_token: str = "[UNK]",
        vocabulary: Any = None,
        idf_weights: Any = None,
        invert: bool = False,
        output_mode: str = "int",
        pad_to_max_tokens: bool = False,
        sparse: bool = False,
        encoding: str = "utf-8",
        name: str | None = None,
        salt: Any = None,
        **kwargs: Any,
    ) -> None:
        _refuse_sparse(sparse)
        self.salt = salt
        options = (max_tokens, num_oov_indices, mask_token, oov_token, vocabulary, idf_weights, invert)
        super().__init__(*options, output_mode, pad_to_max_tokens, name=name, **kwargs)

    def _bucket(self, term: Any) -> int:
        return int(_buckets(np.array([term.encode()], object), self.num_oov_indices, self.salt)[0])

    def get_config(self) -> dict[str, Any]:
        """Return what the layer is made of, with its vocabulary."""
        return {**super().get_config(), "salt": self.salt}


class IntegerLookup(_Lookup):
    """Numbers whole numbers by a vocabulary, as `tf.keras.layers.IntegerLookup`, on the host.

    Args:
        max_tokens: How many terms there are at most, with special ones.
        num_oov_indices: How many numbers those get that are not in the vocabulary.
        mask_token: What gets 0.
        oov_token: What stands for unknown numbers.
        vocabulary: The numbers, or the path of a file with one in each line; None means that `adapt` learns them.
        vocabulary_dtype: "int64" or "int32".
        idf_weights: For "tf_idf", a weight for each number.
        invert: Whether the vocabulary's numbers are given for places in it.
        output_mode: "int", "one_hot", "multi_hot", "count" or "tf_idf".
        sparse: False; there are no sparse results.
        pad_to_max_tokens: Whether all but "int" have the width `max_tokens`.
        name: The layer's name.
        **kwargs: Of `tf.keras.layers.Layer`.
    """

    _is_text = False

    def __init__(
        self,
        max_tokens: int | None = None,
        num_oov_indices: int = 1,
        mask_token: int | None = None,
        oov_token: int = -1,
        vocabulary: Any = None,
        vocabulary_dtype: str = "int64",
        idf_weights: Any = None,
        invert: bool = False,
        output_mode: str = "int",
        sparse: bool = False,
        pad_to_max_tokens: bool = False,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        _refuse_sparse(sparse)
        options = (max_tokens, num_oov_indices, mask_token, oov_token, vocabulary, idf_weights, invert)
        super().__init__(*options, output_mode, pad_to_max_tokens, name=name, **kwargs)

    def _bucket(self, term: Any) -> int:
        return int(term % self.num_oov_indices)


class Hashing(HostLayer):
    """Numbers strings and whole numbers by their hashes, as `tf.keras.layers.Hashing`, on the host.

    Args:
        num_bins: How many numbers there are.
        mask_value: What gets 0, and nothing else then.
        salt: A number or two that change the hashes.
        output_mode: "int", "one_hot", "multi_hot" or "count".
        sparse: False; there are no sparse results.
        **kwargs: Of `tf.keras.layers.Layer`.
    """

    def __init__(
        self,
        num_bins: int,
        mask_value: object = None,
        salt: object = None,
        output_mode: str = "int",
        sparse: bool = False,
        **kwargs: object,
    ) -> None:
        _refuse_sparse(sparse)
        super().__init__(**kwargs)
        if num_bins is None or num_bins <= 0:
            raise BadArgumentError(f"num_bins must be at least 1. Received: num_bins={shown(num_bins)}.")
        self.num_bins, self.mask_value, self.salt, self.output_mode = num_bins, mask_value, salt, output_mode
        self.built = True

    def compute(self, values: np.ndarray) -> np.ndarray:
        """Return the numbers of values."""
        texts = _as_texts(values)
        if self.mask_value is None:
            return self._encode(_buckets(texts, self.num_bins, self.salt))
        ids = np.zeros(texts.shape, np.int64)
        if self.num_bins > 1:
            ids = _buckets(texts, self.num_bins - 1, self.salt) + 1
        ids = np.where(texts == _as_texts(np.asarray(self.mask_value, object))[()], 0, ids)
        return self._encode(ids)

    def _encode(self, ids: np.ndarray) -> np.ndarray:
        return encode_ids(ids, self.output_mode, self.num_bins, keras.backend.floatx())

    def get_config(self) -> dict[str, Any]:
        """Return what the layer is made of."""
        own = ("num_bins", "mask_value", "salt", "output_mode")
        return {**super().get_config(), **{name: getattr(self, name) for name in own}}


def _buckets(texts: np.ndarray, num: int, salt: Any) -> np.ndarray:
    if salt is None:
        return np.asarray(strings.to_hash_bucket_fast(texts, num))
    key = [salt, salt] if isinstance(salt, int) else list(salt)
    return np.asarray(strings.to_hash_bucket_strong(texts, num, key))


def _refuse_sparse(sparse: bool) -> None:
    if sparse:
        raise BadArgumentError("There are no sparse results. Expected: sparse=False. Received: sparse=True.")
