"""Classes of labels: their numbers and their names, which are strings and stay on the host (estimator layer)."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from stratax import errors
from stratax.base.recording import RECORDER
from stratax.base.shown import shown
from stratax.data import SparseTensor
from stratax.tensorflow import v1
from stratax.tensorflow.ops.arrays import arrays
from stratax.tensorflow.ops.text import strings

_IDS = "ids"


@dataclasses.dataclass(frozen=True)
class ClassNames:
    """Gives classes' names, as strings, of their numbers; equal ones are interchangeable in a compiled step.

    Args:
        vocabulary: The names; None for the numbers themselves, written out.
    """

    vocabulary: tuple[str, ...] | None

    def __call__(self, ids: np.ndarray) -> np.ndarray:
        """Return the names, as bytes."""
        if self.vocabulary is None:
            found = [str(each).encode() for each in ids.ravel()]
        else:
            found = [self.vocabulary[each].encode() for each in ids.ravel()]
        made = np.empty(len(found), object)
        made[:] = found
        return made.reshape(ids.shape)


@dataclasses.dataclass(frozen=True)
class _Ids:
    """Gives, on the host, the numbers of labels that are names."""

    vocabulary: tuple[str, ...]
    key: str

    def __call__(self, batch: dict[str, Any]) -> dict[str, np.ndarray]:
        """Return the numbers of a batch's labels."""
        return {_IDS: ids_of(batch[self.key], self.vocabulary)}


@dataclasses.dataclass(frozen=True)
class _Indicator:
    """Gives, on the host, a row of zeros and ones for each example's sparse labels."""

    n_classes: int
    vocabulary: tuple[str, ...] | None
    key: str

    def __call__(self, batch: dict[str, Any]) -> dict[str, np.ndarray]:
        """Return the rows of a batch."""
        return {_IDS: indicator(batch[self.key], self.n_classes, self.vocabulary)}


def all_class_ids(logits: Any, n_classes: int) -> Any:
    """Return the numbers of all classes for each example."""
    return jnp.broadcast_to(jnp.arange(n_classes, dtype=jnp.int32), (logits.shape[0], n_classes))


def names_of(ids: object, vocabulary: tuple[str, ...] | None) -> Any:
    """Return the names of classes: an array of bytes, or in a `model_fn` what stands for it."""
    if isinstance(ids, jax.core.Tracer) and RECORDER.get() is not None:
        # While a model is exported, by functions that exports have.
        return strings.as_string(ids) if vocabulary is None else arrays.gather(list(vocabulary), ids)
    function = ClassNames(vocabulary)
    return v1.after_step(function, ids) if isinstance(ids, jax.core.Tracer) else function(np.asarray(ids))


def number_labels(labels: object, vocabulary: tuple[str, ...]) -> Any:
    """Return the numbers of labels that are names.

    Raises:
        BadArgumentError: Labels are no strings, or one is not in the vocabulary.
    """
    if isinstance(labels, v1.HostTensor):
        return _of_host(_Ids(vocabulary, labels.name), labels)
    if isinstance(labels, jax.Array):
        raise errors.BadArgumentError(
            f"Labels must be strings where there is a label_vocabulary. Received: numbers, dtype={labels.dtype}. Leave "
            "label_vocabulary out, or give the labels' names."
        )
    return ids_of(labels, vocabulary)


def number_sparse_labels(labels: Any, n_classes: int, vocabulary: tuple[str, ...] | None) -> Any:
    """Return rows of zeros and ones for sparse labels."""
    if isinstance(labels, v1.HostTensor):
        return _of_host(_Indicator(n_classes, vocabulary, labels.name), labels)
    return indicator(labels, n_classes, vocabulary)


def _of_host(function: Any, labels: v1.HostTensor) -> Any:
    return v1.current().features.compute_on_host(function, [labels.name], f"{labels.name}/ids")[_IDS]


def ids_of(labels: object, vocabulary: tuple[str, ...]) -> np.ndarray:
    """Return the numbers of names, on the host.

    Raises:
        BadArgumentError: Labels are no strings, or one is not in the vocabulary.
    """
    found = np.asarray(labels)
    if found.dtype.kind not in "OSU":
        raise errors.BadArgumentError(
            f"Labels must be strings where there is a label_vocabulary. Received: numbers, dtype={found.dtype}. Leave "
            "label_vocabulary out, or give the labels' names."
        )
    number = {label: index for index, label in enumerate(vocabulary)}
    texts = [each.decode() if isinstance(each, bytes) else str(each) for each in found.ravel()]
    unknown = sorted({text for text in texts if text not in number})
    if unknown:
        raise errors.BadArgumentError(
            f"Labels are not in the label_vocabulary. Expected: some of {shown(list(vocabulary))}. Received: "
            f"{shown(unknown)}."
        )
    return np.array([number[text] for text in texts], np.int32).reshape(found.shape)


def indicator(labels: SparseTensor, n_classes: int, vocabulary: tuple[str, ...] | None) -> np.ndarray:
    """Return rows of zeros and ones for sparse labels, on the host.

    Raises:
        BadArgumentError: A label is no class.
    """
    values = np.asarray(labels.values)
    if values.dtype.kind in "OSU":
        if vocabulary is None:
            raise errors.BadArgumentError(
                f"Labels are strings, and the head has no label_vocabulary. Received: {shown(labels)}. Pass "
                "label_vocabulary=[...] to the head, or make them numbers."
            )
        values = ids_of(values, vocabulary)
    elif values.dtype.kind not in "iu":
        raise errors.BadArgumentError(
            f"Labels dtype should be integer. Received: dtype={values.dtype}. Convert them in the input_fn."
        )
    if values.size and not (values.min() >= 0 and values.max() < n_classes):
        raise errors.BadArgumentError(
            f"Labels must be from 0 to {n_classes - 1}. Received: values from {values.min()} to {values.max()}. Check "
            "n_classes, and that the labels count from 0."
        )
    made = np.zeros((*labels.shape[:-1], n_classes), np.int32)
    made[(*np.asarray(labels.indices)[:, :-1].T, values)] = 1
    return made
