"""A head on logits of every step of sequences (estimator layer)."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import jax.numpy as jnp

from stratax import errors
from stratax.base.shown import shown
from stratax.data import SparseTensor
from stratax.tensorflow import v1
from stratax.tensorflow.estimator._mode_keys import ModeKeys
from stratax.tensorflow.estimator._spec import EstimatorSpec
from stratax.tensorflow.estimator.heads import _checks
from stratax.tensorflow.estimator.heads._head import Head, LogitsHead
from stratax.tensorflow.estimator.heads._measures import MeasuredBatch, update_keras
from stratax.tensorflow.ops.calls.creation import on_device


class SequentialHead(Head):
    """Another head on every step of sequences that differ in length.

    As TensorFlow's `SequentialHeadWrapper`, which cuts out the steps that are there. A compiled step can't, as their
    number is data: here the steps behind an example's end have no weight and are not counted.

    Args:
        head: The head of one step.
        mask: The feature that says which steps are there: bool, of shape `(batch, steps)`.
        columns: Which features have a value for each step, such as weights.

    Raises:
        BadTypeError: If `head` is on several arrays of logits, or a column is no name.
    """

    def __init__(self, head: Head, mask: str, columns: Sequence[str] = ()) -> None:
        if not isinstance(head, LogitsHead):
            raise errors.BadTypeError(
                "Sequences take a head on one array of logits, such as tf.estimator.BinaryClassHead(). Received: "
                f"head={shown(head)}."
            )
        for name in (mask, *columns):
            if not isinstance(name, str):
                raise errors.BadTypeError(
                    "The mask and the weights of sequences are given by their feature's name. Received: "
                    f"{shown(name)} ({type(name).__name__}). Pass the name as text."
                )
        self._head = head
        self.mask = mask
        self._columns = tuple(columns)

    @property
    def name(self) -> str | None:
        return f"{self._head.name}_sequential" if self._head.name else None

    @property
    def logits_dimension(self) -> int:
        return self._head.logits_dimension

    @property
    def loss_reduction(self) -> str:
        return self._head.loss_reduction

    def loss(
        self,
        labels: object,
        logits: object,
        features: object = None,
        mode: str | None = None,
        regularization_losses: Sequence[Any] | None = None,
    ) -> Any:
        del mode
        total = self._reduce(
            self._head._batch(self._dense(features), logits, self._labels(labels, features)), features
        )
        return total if regularization_losses is None else total + sum(regularization_losses)

    def _reduce(self, batch: MeasuredBatch, features: object) -> Any:
        """Return the loss of the steps that are there."""
        reduction, steps = _checks.reduction_of(self.loss_reduction), self._steps(features)
        if reduction == v1.losses.Reduction.SUM_OVER_BATCH_SIZE:
            # Their number is that of the mask, whatever they weigh.
            return _weigh(batch.losses * batch.weights, steps, v1.losses.Reduction.MEAN)
        return _weigh(batch.losses, batch.weights * steps, reduction)

    def predictions(self, logits: object, keys: Sequence[str] | None = None) -> dict[Any, Any]:
        return self._head.predictions(logits, keys)

    def metrics(self, regularization_losses: Sequence[Any] | None = None) -> dict[str, Any]:
        return self._head.metrics(regularization_losses)

    def update_metrics(
        self,
        eval_metrics: dict[str, Any],
        features: object,
        logits: object,
        labels: object,
        mode: str | None = None,
        regularization_losses: Sequence[Any] | None = None,
    ) -> dict[str, Any]:
        del mode
        batch = self._head._batch(
            self._dense(features), logits, self._labels(labels, features), regularization_losses
        )
        counted = dataclasses.replace(batch, weights=batch.weights * self._steps(features))
        update_keras(eval_metrics, self._head._check_measures(eval_metrics, regularization_losses), counted)
        return eval_metrics

    def create_estimator_spec(self, features: Any, mode: str, *args: Any, **kwargs: Any) -> EstimatorSpec:
        spec = super().create_estimator_spec(features, mode, *args, **kwargs)
        if mode != ModeKeys.PREDICT:
            return spec
        return spec._replace(predictions={**spec.predictions, self.mask: features[self.mask]})

    def export_outputs(self, logits: object, predictions: Mapping[Any, Any]) -> dict[str, Any] | None:
        return self._head.export_outputs(logits, predictions)

    def _steps(self, features: object) -> Any:
        """Return 1.0 for the steps that are there, else 0.0; of shape `(batch, steps, 1)`."""
        if not isinstance(features, Mapping) or self.mask not in features:
            raise errors.BadArgumentError(
                f"The mask of the sequences is not among the features. Expected: a feature {shown(self.mask)}. "
                f"Received: {shown(sorted(features) if isinstance(features, Mapping) else features)}."
            )
        mask = on_device(features[self.mask])
        if mask.ndim != 2:
            raise errors.BadArgumentError(
                "A mask of sequences has two dimensions. Expected: shape (batch, steps). Received: "
                f"{self.mask} of shape {tuple(mask.shape)}."
            )
        return mask[..., None].astype(jnp.float32)

    def _labels(self, labels: object, features: object) -> Any:
        """Return labels as a dense array, with a valid one where there is no step."""
        dense = _dense(labels)
        if isinstance(dense, v1.HostTensor) or dense is None:
            return dense
        found, steps = on_device(dense), self._steps(features) > 0
        return jnp.where(steps if found.ndim == 3 else steps[..., 0], found, jnp.zeros_like(found))

    def _dense(self, features: Any) -> Any:
        return {**features, **{name: _dense(features[name]) for name in self._columns if name in features}}


def _dense(value: object) -> Any:
    is_sparse = isinstance(value, SparseTensor) or (isinstance(value, v1.HostTensor) and value.shape is None)
    return v1.sparse.to_dense(value) if is_sparse else value


def _weigh(losses: object, weights: object, reduction: str) -> Any:
    return v1.losses.compute_weighted_loss(losses, weights, loss_collection=None, reduction=reduction)
