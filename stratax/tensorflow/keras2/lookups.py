"""Layers that make numbers of text and categories, without TensorFlow (keras2 layer).

They compute on the host, where text is: in a function given to `Dataset.map`, called with NumPy arrays and lists, or as
a part of a model, ahead of its steps. Their numbers are those of Keras' layers on TensorFlow, and so are their
configurations: Keras takes each for the layer of its own of that name.
"""

import collections
import dataclasses
import os
from collections.abc import Iterable, Sequence
from typing import Any

import keras
import numpy as np
from keras import ops

from stratax.base.recording import RECORDER
from stratax.base.shown import shown
from stratax.base.typing import Array, DTypeLike, PyTree, TensorLike
from stratax.data import sparse_to_dense
from stratax.data.elements import RaggedTensor, as_array, map_flat
from stratax.data.vectorise import make_tensors
from stratax.errors import BadArgumentError, BadTypeError
from stratax.io import gfile
from stratax.seams import keras2 as seam
from stratax.tensorflow.keras2 import layer_text
from stratax.tensorflow.ops.arrays import sparse
from stratax.tensorflow.ops.arrays.arrays import expand_dims, where
from stratax.tensorflow.ops.calls.on_host import is_symbol, on_host
from stratax.tensorflow.ops.math.elementwise import equal
from stratax.tensorflow.ops.tables.lookup import KeyValueTensorInitializer, StaticHashTable
from stratax.tensorflow.ops.text import strings

_MODES = ("int", "one_hot", "multi_hot", "count", "tf_idf")
# Of a term that is not in a vocabulary, before it gets an id.
_OTHER = -2


class HostLayer(keras.Layer):
    """A layer that computes on the host: in a pipeline, of arrays, and as a part of a model.

    A subclass has `compute(values)`, which takes and returns a NumPy array; `in_model(inputs)`, which does the same for
    what has no value while a model is traced, or an export is recorded; and Keras' `compute_output_spec(inputs)`.
    """

    def __init__(self, name: str | None = None, dtype: DTypeLike | None = None, **kwargs: Any) -> None:
        # Keras' own classes refuse to be made without TensorFlow.
        keras.Layer.__init__(self, name=name, dtype=dtype, **kwargs)
        self._convert_input_args = False
        self._allow_non_tensor_positional_args = True
        # Which Keras says of them, and strategies look for: what they compute is computed ahead of a step.
        self.supports_jit = False
        self.built = True

    def call(self, inputs: PyTree) -> Any:
        """Return what the layer makes of values; of what a model is given while it is traced, or an export."""
        if has_symbols(inputs):
            return self.in_model(inputs)
        if isinstance(inputs, RaggedTensor):
            return map_flat(self._of_flat, inputs)
        return make_tensors(self.compute(as_values(inputs)))

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

    def in_model(self, inputs: Array) -> Any:
        """Return what the layer makes of what has no value yet."""
        raise NotImplementedError(f"{type(self).__name__} needs a method in_model.")

    def build(self, input_shape: object = None) -> None:
        """Do nothing: what such a layer knows does not depend on shapes."""

    def save_assets(self, dir_path: str) -> None:
        """Write nothing: the vocabulary is part of the configuration."""


def has_symbols(inputs: object) -> bool:
    """Return whether some of a layer's inputs have no value yet."""
    recorder = RECORDER.get()
    return any(
        is_symbol(each) or (recorder is not None and recorder.is_value(each))
        for each in (inputs if isinstance(inputs, list | tuple) else [inputs])
    )


def as_values(inputs: TensorLike) -> np.ndarray:
    """Return a layer's input as an array on the host."""
    return np.asarray(as_array(inputs))


def as_texts(values: np.ndarray) -> np.ndarray:
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


def encode_in_model(ids: Array, mode: str, depth: int, dtype: str, weights: np.ndarray | None = None) -> Any:
    """Return what becomes of ids that a step is given, as :func:`encode_ids`.

    Args:
        ids: An array of the step; ids below 0 are left out.
        mode: "int", "one_hot", "multi_hot", "count" or "tf_idf".
        depth: How many ids there are.
        dtype: Of the result.
        weights: What "tf_idf" multiplies counts with.
    """
    if mode == "int":
        return ids
    if mode == "one_hot":
        ids = ids[..., 0] if ids.ndim > 1 and ids.shape[-1] == 1 else ids
        return ops.one_hot(ids if ids.ndim else ids[None], depth, dtype=dtype)
    counts = ops.sum(ops.one_hot(ids if ids.ndim else ids[None], depth, dtype=dtype), axis=-2)
    if mode == "multi_hot":
        return ops.cast(counts > 0, dtype)
    return counts if weights is None else counts * ops.convert_to_tensor(weights.astype(dtype))


def spec_of_encoded(shape: Sequence[int | None], mode: str, depth: int | None) -> tuple[int | None, ...]:
    """Return the shape of what becomes of ids of a shape in an output mode."""
    if mode == "int":
        return tuple(shape)
    if mode == "one_hot" and (len(shape) < 2 or shape[-1] != 1):
        return (*(shape or (1,)), depth)
    return (*shape[:-1], depth)


class TermIds:
    """What ids terms have; a function from an array of terms to their ids, which can be pickled.

    Args:
        tokens: The terms, in the order of their ids.
        start: The id of the first.
        mask: What gets `mask_id`; None for nothing.
        mask_id: 0, or -1 where what is masked is left out.
        num_oov: How many ids other terms get, from `oov_start` on.
        oov_start: The first of them.
        is_hashed: Whether the rest of a hash says which; or of the number itself.
        salt: Two numbers that change hashes; None for the hashes of `tf.strings.to_hash_bucket_fast`.
    """

    def __init__(
        self,
        tokens: Sequence[Any],
        start: int,
        mask: TensorLike,
        mask_id: int,
        num_oov: int,
        oov_start: int,
        *,
        is_hashed: bool,
        salt: Sequence[int] | None,
    ) -> None:
        self.places = {token: place for place, token in enumerate(tokens, start)}
        if mask is not None:
            self.places[mask] = mask_id
        self.num_oov, self.oov_start, self.is_hashed, self.salt = num_oov, oov_start, is_hashed, salt

    def __call__(self, values: np.ndarray) -> np.ndarray:
        """Return the ids of terms, as int64 of their shape.

        Raises:
            BadArgumentError: A term has none.
        """
        flat = values.reshape(-1).tolist()
        if values.dtype.kind in "OSU":
            flat = [each if isinstance(each, bytes) else str(each).encode() for each in flat]
        return self.of_terms(flat).reshape(values.shape)

    def of_terms(self, terms: list[Any]) -> np.ndarray:
        """Return the ids of a list of terms: `bytes`, or whole numbers."""
        find = self.places.get
        ids = np.array([find(each, _OTHER) for each in terms], np.int64)
        others = np.flatnonzero(ids == _OTHER)
        if len(others):
            ids[others] = self._ids_of_others([terms[place] for place in others.tolist()])
        return ids

    def _ids_of_others(self, terms: list[Any]) -> Any:
        if not self.num_oov:
            named = [each.decode("utf-8", "replace") if isinstance(each, bytes) else each for each in terms]
            raise BadArgumentError(
                "When `num_oov_indices=0` all inputs should be in vocabulary, found OOV values "
                f"{shown(list(dict.fromkeys(named)))}, consider setting `num_oov_indices=1`."
            )
        if self.num_oov == 1:
            return self.oov_start
        if not self.is_hashed:
            return self.oov_start + np.array(terms, np.int64) % self.num_oov
        return self.oov_start + buckets(
            as_texts(np.array([*terms, None], object)[:-1]), self.num_oov, self.salt
        )

    def table(self, key_dtype: DTypeLike) -> StaticHashTable:
        """Return a table of the terms' ids."""
        ids = KeyValueTensorInitializer(list(self.places), list(self.places.values()), key_dtype, np.int64)
        return StaticHashTable(ids, self.oov_start if self.num_oov == 1 else _OTHER)

    def record(self, values: Array, key_dtype: DTypeLike) -> Any:
        """Return the ids of terms by functions of `tf`, which an export can call, and a program for numbers.

        Args:
            values: A value of the host, or an array of a program.
            key_dtype: The dtype of terms.
        """
        ids = self.table(key_dtype).lookup(values)
        if self.num_oov < 2:
            return ids
        if self.is_hashed:
            texts = values if values.dtype == object else strings.as_string(values)
            others = buckets_of(texts, self.num_oov, self.salt)
        else:
            others = values % self.num_oov
        return where(equal(ids, _OTHER), others + self.oov_start, ids)


@dataclasses.dataclass(slots=True)
class _Known:
    """What a layer has learnt, apart from it: Keras tracks a layer's lists and dicts, and changes them."""

    terms: list[Any] = dataclasses.field(default_factory=list)
    ids: TermIds | None = None
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
        oov_method: str = "floormod",
        salt: int | Sequence[int] | None = None,
        name: str | None = None,
        has_input_vocabulary: bool | None = None,
        vocabulary_size: int | None = None,
        vocabulary_dtype: object = None,
        trainable: bool = True,
        dtype: object = None,
        **kwargs: Any,
    ) -> None:
        # What Keras has in its configurations, and what follows from the rest here.
        del vocabulary_size, vocabulary_dtype, trainable, dtype
        super().__init__(name=name, **kwargs)
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
        self.pad_to_max_tokens, self.oov_method, self.salt, self.sparse = (
            pad_to_max_tokens,
            oov_method,
            salt,
            False,
        )
        self.vocabulary_dtype = "string" if self._is_text else "int64"
        self._known = _Known()
        self.reset_state()
        if vocabulary is not None:
            self.set_vocabulary(vocabulary, idf_weights)
            self._known.is_given = has_input_vocabulary is not False

    def _specials(self) -> list[Any]:
        masks = [self.mask_token] if self.mask_token is not None and self.output_mode == "int" else []
        return [*masks, *[self.oov_token] * self.num_oov_indices]

    def _plain(self, value: PyTree) -> Any:
        """Return a term as the vocabulary has it."""
        if self._is_text:
            return value.decode() if isinstance(value, bytes) else str(value)
        return int(value)

    def set_vocabulary(self, vocabulary: TensorLike, idf_weights: TensorLike = None) -> None:
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

    @property
    def _has_input_vocabulary(self) -> bool:
        # As Keras calls it, whose FeatureSpace asks.
        return self._known.is_given

    def _take(self, tokens: Sequence[Any]) -> None:
        self._known.terms = [*self._specials(), *tokens]
        as_key = (lambda term: term.encode()) if self._is_text else (lambda term: term)
        has_mask = self.mask_token is not None and self.output_mode == "int"
        self._known.ids = TermIds(
            list(map(as_key, tokens)),
            len(self._known.terms) - len(tokens),
            None if self.mask_token is None else as_key(self.mask_token),
            0 if has_mask else -1,
            self.num_oov_indices,
            int(has_mask),
            is_hashed=self._is_text or self.oov_method == "farmhash",
            salt=None if self.salt is None else _key_of(self.salt),
        )
        layer_text.note_change()

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

    def ids(self) -> TermIds:
        """Return what ids terms have.

        Raises:
            BadArgumentError: There is no vocabulary yet.
        """
        if self._known.ids is None:
            raise BadArgumentError(
                f"{type(self).__name__} {shown(self.name)} has no vocabulary. Call adapt with the data, or give "
                "vocabulary."
            )
        return self._known.ids

    def compute(self, values: np.ndarray) -> np.ndarray:
        """Return the numbers of terms, or the terms of numbers."""
        ids = self.ids()
        if self.invert:
            return self._invert(values)
        return encode_ids(
            ids(self._check_kind(values)), self.output_mode, self._depth(), "int64", self._known.weights
        )

    def _check_kind(self, values: PyTree) -> Any:
        """Return terms that are of the layer's kind.

        Raises:
            BadTypeError: They are not.
        """
        is_text = np.dtype(getattr(values.dtype, "as_numpy_dtype", values.dtype)).kind in "OSU"
        if is_text != self._is_text and np.size(values if isinstance(values, np.ndarray) else 1):
            wanted = ("text", "dtype='string'") if self._is_text else ("whole numbers", "dtype='int64'")
            raise BadTypeError(
                f"{type(self).__name__} {shown(self.name)} numbers {wanted[0]}. Expected: an input of {wanted[1]}. "
                f"Received: {shown(values)}. Convert it, with tf.strings.as_string or to_number for instance."
            )
        return values

    def in_model(self, inputs: Array) -> Any:
        """Return the numbers of terms that have no value yet, or the terms of such numbers."""
        ids = self.ids()
        if self.invert:
            return on_host(_Inverse(self._known.terms, self.oov_token), inputs, name=self.name, gives=object)
        values = self._check_kind(inputs)
        recorder = RECORDER.get()
        if recorder is not None or (not self._is_text and self.num_oov_indices and not ids.is_hashed):
            # An export calls functions of tf alone, and a program finds numbers by itself.
            found = ids.record(values, np.dtype(object) if self._is_text else np.dtype(np.int64))
        else:
            found = on_host(ids, values, name=self.name, gives=np.int64)
        return encode_in_model(
            found, self.output_mode, self._depth(), keras.backend.floatx(), self._known.weights
        )

    def compute_output_shape(self, input_shape: Sequence[int | None]) -> Any:
        """Return the shape of what the layer makes of an input of a shape."""
        known = bool(self._known.terms) or bool(self.pad_to_max_tokens and self.max_tokens)
        return spec_of_encoded(tuple(input_shape), self.output_mode, self._depth() if known else None)

    def compute_output_spec(self, inputs: Array) -> Any:
        """Return what stands for the result of a symbolic tensor."""
        dtype = "int64" if self.output_mode == "int" else keras.backend.floatx()
        if self.invert:
            dtype = "string" if self._is_text else "int64"
        elif isinstance(inputs, keras.KerasTensor):
            self._check_dtype(inputs)
        return keras.KerasTensor(self.compute_output_shape(inputs.shape), dtype)

    def _check_dtype(self, inputs: keras.KerasTensor) -> None:
        if (inputs.dtype == "string") != self._is_text:
            wanted = "dtype='string'" if self._is_text else "dtype='int64'"
            raise BadTypeError(
                f"{type(self).__name__} {shown(self.name)} takes an input of {wanted}. Received: {shown(inputs)}."
            )

    def save_own_variables(self, store: PyTree) -> None:
        """Write the weights of "tf_idf", where Keras has them."""
        if self.output_mode == "tf_idf" and self._known.weights is not None:
            store["idf_weights"] = self._known.weights.astype(keras.backend.floatx())

    def load_own_variables(self, store: PyTree) -> None:
        """Read the weights of "tf_idf"."""
        if self.output_mode == "tf_idf" and "idf_weights" in store:
            self._known.weights = np.asarray(store["idf_weights"], np.float64)

    def load_assets(self, dir_path: str | None) -> None:
        """Read the vocabulary of a model that Keras has saved on TensorFlow.

        Args:
            dir_path: The folder in which it is; None where the file has none for this layer.
        """
        path = os.path.join(dir_path or "", "vocabulary.txt")
        if dir_path is None or self._known.terms or not gfile.exists(path):
            return
        weights = self._known.weights
        with gfile.GFile(path) as file:
            terms = file.read().split("\n")
        while terms and not terms[-1]:
            terms.pop()
        self.set_vocabulary(terms, weights)
        if weights is not None:
            self._known.weights = weights

    def _invert(self, values: np.ndarray) -> np.ndarray:
        made = _Inverse(self._known.terms, self.oov_token)(values)
        return made if self._is_text else np.array(made.reshape(-1).tolist(), np.int64).reshape(values.shape)

    def get_config(self) -> dict[str, Any]:
        """Return what the layer is made of, with its vocabulary."""
        return {
            **keras.Layer.get_config(self),
            "max_tokens": self.max_tokens,
            "num_oov_indices": self.num_oov_indices,
            "mask_token": self.mask_token,
            "oov_token": self.oov_token,
            "invert": self.invert,
            "output_mode": self.output_mode,
            "pad_to_max_tokens": self.pad_to_max_tokens,
            "vocabulary": list(self._known.terms) or None,
            "idf_weights": None
            if self._known.weights is None
            else self._known.weights[: len(self._known.terms)].tolist(),
            "has_input_vocabulary": self._known.is_given,
            "sparse": False,
            "oov_method": self.oov_method,
            "salt": self.salt,
        }


class _Inverse:
    """From ids to terms; it can be pickled.

    Args:
        terms: The terms, in the order of their ids.
        other: What other ids become.
    """

    def __init__(self, terms: Sequence[Any], other: TensorLike) -> None:
        self._terms, self._other = terms, other

    def __call__(self, ids: np.ndarray) -> np.ndarray:
        count = len(self._terms)
        found = [
            self._terms[place] if 0 <= place < count else self._other for place in ids.reshape(-1).tolist()
        ]
        made = np.empty(len(found), object)
        made[:] = [each.encode() if isinstance(each, str) else each for each in found]
        return made.reshape(ids.shape)


def batches_of(data: TensorLike) -> Iterable[Any]:
    """Return the batches to learn from: those of a Dataset, or an array as one.

    Args:
        data: A Dataset or another iterable of batches, or an array or list, whose elements are examples.
    """
    if isinstance(data, (list, tuple, np.ndarray)) or not hasattr(data, "__iter__"):
        values = np.asarray(data)
        return [values[:, None] if values.ndim == 1 else values]
    return data


class StringLookup(_Lookup, keras.layers.StringLookup):
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
        vocabulary: TensorLike = None,
        idf_weights: TensorLike = None,
        invert: bool = False,
        output_mode: str = "int",
        pad_to_max_tokens: bool = False,
        sparse: bool = False,
        encoding: str = "utf-8",
        name: str | None = None,
        salt: int | Sequence[int] | None = None,
        **kwargs: Any,
    ) -> None:
        _refuse_sparse(sparse)
        options = (max_tokens, num_oov_indices, mask_token, oov_token, vocabulary, idf_weights, invert)
        super().__init__(*options, output_mode, pad_to_max_tokens, salt=salt, name=name, **kwargs)
        self.encoding = encoding

    def get_config(self) -> dict[str, Any]:
        """Return what the layer is made of, with its vocabulary."""
        return {**super().get_config(), "encoding": self.encoding}


class IntegerLookup(_Lookup, keras.layers.IntegerLookup):
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
        vocabulary: TensorLike = None,
        vocabulary_dtype: str = "int64",
        idf_weights: TensorLike = None,
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
        self.vocabulary_dtype = str(getattr(vocabulary_dtype, "name", vocabulary_dtype))

    def get_config(self) -> dict[str, Any]:
        """Return what the layer is made of, with its vocabulary."""
        return {**super().get_config(), "vocabulary_dtype": self.vocabulary_dtype}


class Hashing(HostLayer, keras.layers.Hashing):
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
        salt: int | Sequence[int] | None = None,
        output_mode: str = "int",
        sparse: bool = False,
        **kwargs: Any,
    ) -> None:
        _refuse_sparse(sparse)
        # As Keras: whole numbers unless they become ones and zeros.
        dtype = kwargs.pop("dtype", None) or ("int64" if output_mode == "int" else None)
        super().__init__(dtype=dtype, **kwargs)
        if num_bins is None or num_bins <= 0:
            raise BadArgumentError(f"num_bins must be at least 1. Received: num_bins={shown(num_bins)}.")
        self.num_bins, self.mask_value, self.salt, self.output_mode = num_bins, mask_value, salt, output_mode
        self.sparse = sparse

    def _hashes(self) -> "_Hashes":
        return _Hashes(self.num_bins, self.mask_value, None if self.salt is None else _key_of(self.salt))

    def compute(self, values: np.ndarray) -> np.ndarray:
        """Return the numbers of values."""
        return encode_ids(self._hashes()(values), self.output_mode, self.num_bins, keras.backend.floatx())

    def in_model(self, inputs: Array) -> Any:
        """Return the numbers of values that have no value yet."""
        if RECORDER.get() is not None:
            ids = self._hashes().record(inputs)
        else:
            ids = on_host(self._hashes(), inputs, name=self.name, gives=np.int64)
        return encode_in_model(ids, self.output_mode, self.num_bins, keras.backend.floatx())

    def compute_output_shape(self, input_shape: Sequence[int | None]) -> Any:
        """Return the shape of what the layer makes of an input of a shape."""
        return spec_of_encoded(tuple(input_shape), self.output_mode, self.num_bins)

    def compute_output_spec(self, inputs: Array) -> Any:
        """Return what stands for the result of a symbolic tensor."""
        dtype = "int64" if self.output_mode == "int" else keras.backend.floatx()
        return keras.KerasTensor(self.compute_output_shape(inputs.shape), dtype)

    def get_config(self) -> dict[str, Any]:
        """Return what the layer is made of."""
        own = ("num_bins", "mask_value", "salt", "output_mode", "sparse")
        return {**keras.Layer.get_config(self), **{name: getattr(self, name) for name in own}}


class _Hashes:
    """From values to the numbers of their hashes; it can be pickled.

    Args:
        num_bins: How many numbers there are.
        mask: What gets 0, and nothing else then; None for nothing.
        key: Two numbers that change hashes, or None.
    """

    def __init__(self, num_bins: int, mask: TensorLike, key: Sequence[int] | None) -> None:
        # As Keras: with one bin, everything gets it.
        self._has_mask = mask is not None and num_bins > 1
        self._bins, self._mask, self._key = num_bins - int(self._has_mask), mask, key

    def __call__(self, values: np.ndarray) -> np.ndarray:
        """Return the numbers of values, as int64 of their shape."""
        # As Keras: fractions are cut.
        values = values.astype(np.int64) if values.dtype.kind == "f" else values
        texts = as_texts(values)
        ids = buckets(texts, self._bins, self._key)
        if not self._has_mask:
            return ids
        return np.where(texts == as_texts(np.asarray(self._mask, object))[()], 0, ids + 1)

    def record(self, values: Array) -> Any:
        """Return the numbers by functions of `tf`, which an export can call."""
        texts = values if values.dtype == object else strings.as_string(ops.cast(values, "int32"))
        ids = buckets_of(texts, self._bins, self._key)
        if not self._has_mask:
            return ids
        mask = as_texts(np.asarray(self._mask, object))[()]
        return where(equal(texts, mask), 0, ids + 1)


class HashedCrossing(HostLayer, keras.layers.HashedCrossing):
    """Numbers what values stand beside one another, as `tf.keras.layers.HashedCrossing`, on the host.

    Args:
        num_bins: How many numbers there are.
        output_mode: "int" or "one_hot".
        sparse: False; there are no sparse results.
        name: The layer's name.
        dtype: The layer's dtype.
        **kwargs: None; of Keras' layer.

    Example:
        >>> import stratax.tf as tf
        >>> layer = tf.keras.layers.HashedCrossing(5)
        >>> layer((tf.constant(["A", "B", "A"]), tf.constant([101, 101, 102]))).numpy().tolist()
        [1, 4, 3]
    """

    def __init__(
        self,
        num_bins: int,
        output_mode: str = "int",
        sparse: bool = False,
        name: str | None = None,
        dtype: DTypeLike | None = None,
        **kwargs: Any,
    ) -> None:
        _refuse_sparse(sparse)
        if output_mode not in ("int", "one_hot"):
            raise BadArgumentError(
                f"output_mode is 'int' or 'one_hot'. Received: output_mode={shown(output_mode)}."
            )
        super().__init__(name, dtype or ("int64" if output_mode == "int" else None), **kwargs)
        self.num_bins, self.output_mode, self.sparse = num_bins, output_mode, sparse

    def call(self, inputs: PyTree) -> Any:
        """Return the numbers of crosses: of each row, of one value of each input."""
        if not isinstance(inputs, list | tuple) or len(inputs) < 2:
            raise BadArgumentError(
                f"`HashedCrossing` should be called on at least two inputs. Received: inputs={shown(inputs)}"
            )
        shapes = [tuple(each.shape if hasattr(each, "shape") else np.shape(each)) for each in inputs]
        # A size that is not known yet may be any.
        known = [{size for size in sizes if isinstance(size, int)} for sizes in zip(*shapes, strict=False)]
        if (
            len(shapes[0]) > 2
            or len(set(map(len, shapes))) > 1
            or any(len(sizes) > 1 for sizes in known)
            or known[1:] not in ([], [{1}])
        ):
            raise BadArgumentError(
                "All `HashedCrossing` inputs should have one shape, `()`, `(batch_size)` or `(batch_size, 1)`. "
                f"Received: inputs of shapes {shapes}."
            )
        if has_symbols(inputs):
            return self.in_model(inputs)
        return make_tensors(self.compute(*map(as_values, inputs)))

    def compute(self, *values: np.ndarray) -> np.ndarray:
        """Return the numbers of crosses."""
        ids = _Crosses(self.num_bins)(*values)
        return encode_ids(ids, self.output_mode, self.num_bins, keras.backend.floatx())

    def in_model(self, inputs: PyTree) -> Any:
        """Return the numbers of crosses that have no value yet."""
        recorder = RECORDER.get()
        if recorder is None:
            ids = on_host(_Crosses(self.num_bins), *inputs, name=self.name, gives=np.int64)
        else:
            columns = [each if len(each.shape) == 2 else expand_dims(each, -1) for each in inputs]
            # As many as a row has crosses, which is one: nobody knows it of a SparseTensor.
            ids = sparse_to_dense(sparse.cross_hashed(columns, self.num_bins))[:, :1]
            ids = ids if len(inputs[0].shape) == 2 else ids[:, 0]
        return encode_in_model(ids, self.output_mode, self.num_bins, keras.backend.floatx())

    def compute_output_spec(self, inputs: Array) -> Any:
        """Return what stands for the result of symbolic tensors."""
        dtype = "int64" if self.output_mode == "int" else keras.backend.floatx()
        return keras.KerasTensor(self.compute_output_shape([tuple(each.shape) for each in inputs]), dtype)


class _Crosses:
    """From values beside one another to the numbers of their hashes; it can be pickled.

    Args:
        num_bins: How many numbers there are.
    """

    def __init__(self, num_bins: int) -> None:
        self._num_bins = num_bins

    def __call__(self, *values: np.ndarray) -> np.ndarray:
        """Return the numbers, as int64 of the values' shape."""
        columns = [each.reshape(-1, 1) for each in values]
        crossed = sparse.cross_hashed(columns, self._num_bins)
        return np.asarray(crossed.values, np.int64).reshape(values[0].shape)


def buckets(texts: np.ndarray, num: int, key: Sequence[int] | None) -> np.ndarray:
    """Return the numbers of texts' hashes."""
    return np.asarray(buckets_of(texts, num, key))


def buckets_of(texts: TensorLike, num: int, key: Sequence[int] | None) -> Any:
    """Return the numbers of texts' hashes, by functions of `tf`."""
    return (
        strings.to_hash_bucket_fast(texts, num)
        if key is None
        else strings.to_hash_bucket_strong(texts, num, key)
    )


def _key_of(salt: int | Sequence[int]) -> list[int]:
    return [salt, salt] if isinstance(salt, int) else list(salt)


def _refuse_sparse(sparse: bool) -> None:
    if sparse:
        raise BadArgumentError("There are no sparse results. Expected: sparse=False. Received: sparse=True.")


for _name in ("StringLookup", "IntegerLookup", "Hashing", "HashedCrossing"):
    # Files name Keras' layers, and are read where TensorFlow is.
    seam.stand_for(globals()[_name], f"keras.layers.{_name}")
