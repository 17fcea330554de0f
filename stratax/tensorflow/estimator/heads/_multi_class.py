"""`MultiClassHead`: one of several classes (estimator layer)."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax.numpy as jnp

from stratax import errors
from stratax.base.shown import shown
from stratax.tensorflow.estimator.heads import _checks, _classes, _exports
from stratax.tensorflow.estimator.heads._binary_class import class_ids
from stratax.tensorflow.estimator.heads._classes import all_class_ids
from stratax.tensorflow.estimator.heads._head import LogitsHead
from stratax.tensorflow.estimator.heads._keys import MetricKeys, PredictionKeys
from stratax.tensorflow.estimator.heads._measures import HeadMetric
from stratax.tensorflow.ops.nn import nn


class MultiClassHead(LogitsHead):
    """A head for one of several classes, as `tf.estimator.MultiClassHead`: the cross entropy of a softmax.

    Args:
        n_classes: The number of classes, at least 3.
        weight_column: The feature of the examples' weights, or a numeric column.
        label_vocabulary: The classes' names; None where labels are numbers from 0 to `n_classes - 1`.
        loss_reduction: How the examples' losses become one number.
        loss_fn: A function of `labels` and `logits`, and if it likes `features` and `loss_reduction`, that returns
            losses of shape `(batch, ..., 1)`.
        name: Stands behind the keys of metrics and summaries, and before the names of tensors.

    Raises:
        BadArgumentError: If an argument can't be.

    Example:
        >>> import stratax.estimator as estimator
        >>> head = estimator.MultiClassHead(n_classes=3)
        >>> round(float(head.loss(labels=[[1], [1]], logits=[[10.0, 0.0, 0.0], [0.0, 10.0, 0.0]])), 4)
        5.0001
    """

    _prediction_keys = (
        PredictionKeys.LOGITS,
        PredictionKeys.PROBABILITIES,
        PredictionKeys.CLASS_IDS,
        PredictionKeys.CLASSES,
        PredictionKeys.ALL_CLASS_IDS,
        PredictionKeys.ALL_CLASSES,
    )

    def __init__(
        self,
        n_classes: int,
        weight_column: object = None,
        label_vocabulary: Sequence[str] | None = None,
        loss_reduction: str = "sum_over_batch_size",
        loss_fn: Callable[..., Any] | None = None,
        name: str | None = None,
    ) -> None:
        if n_classes is None or n_classes <= 2:
            raise errors.BadArgumentError(
                f"n_classes must be > 2. Received: n_classes={shown(n_classes)}. Use BinaryClassHead for two classes."
            )
        self._label_vocabulary = _checks.check_vocabulary(label_vocabulary, n_classes)
        super().__init__(n_classes, weight_column, loss_reduction, loss_fn, name)

    def predictions(self, logits: object, keys: Sequence[str] | None = None) -> dict[Any, Any]:
        wanted = _checks.check_keys(keys, self._prediction_keys)
        logits = _checks.check_logits(logits, self.logits_dimension)
        ids = class_ids(logits)
        every = all_class_ids(logits, self.logits_dimension)
        made = {
            PredictionKeys.LOGITS: lambda: logits,
            PredictionKeys.PROBABILITIES: lambda: nn.softmax(logits, name="predictions/probabilities"),
            PredictionKeys.CLASS_IDS: lambda: ids,
            PredictionKeys.CLASSES: lambda: _classes.names_of(ids, self._label_vocabulary),
            PredictionKeys.ALL_CLASS_IDS: lambda: every,
            PredictionKeys.ALL_CLASSES: lambda: _classes.names_of(every, self._label_vocabulary),
        }
        return {key: make() for key, make in made.items() if key in wanted}

    def export_outputs(self, logits: object, predictions: Mapping[Any, Any]) -> dict[str, Any]:
        logits = _checks.check_logits(logits, self.logits_dimension)
        scores = nn.softmax(logits)
        return _exports.of_classes(logits, scores, self.logits_dimension, self._label_vocabulary, predictions)

    def _process(self, labels: object, logits: object) -> Any:
        if self._label_vocabulary is not None and labels is not None:
            labels = _classes.number_labels(labels, self._label_vocabulary)
        found = _checks.dense_labels(labels, logits, 1)
        if not jnp.issubdtype(found.dtype, jnp.integer):
            raise errors.BadArgumentError(
                f"Labels dtype should be integer. Received: dtype={found.dtype}. Labels are the classes' numbers: "
                "convert them in the input_fn."
            )
        _checks.check_range(labels, self.logits_dimension - 1)
        return found

    def _own_losses(self, labels: Any, logits: Any) -> Any:
        return nn.sparse_softmax_cross_entropy_with_logits(labels=labels[..., 0], logits=logits)[..., None]

    def _check_losses(self, labels: object, losses: object) -> Any:
        return _checks.spoiling_outside(labels, self.logits_dimension - 1, losses)

    def _scores(self, logits: Any) -> tuple[Any, Any]:
        return logits, jnp.argmax(logits, -1)[..., None]

    def _measures(self) -> Mapping[str, HeadMetric]:
        return {
            MetricKeys.LOSS_MEAN: HeadMetric(kind="loss"),
            MetricKeys.ACCURACY: HeadMetric(kind="accuracy"),
        }
