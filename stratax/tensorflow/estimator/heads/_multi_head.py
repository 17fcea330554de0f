"""`MultiHead`: several heads on one model (estimator layer)."""

from collections.abc import Mapping, Sequence
from typing import Any

import jax.numpy as jnp
import keras

from stratax import errors
from stratax.base.shown import shown
from stratax.tensorflow.estimator.heads._exports import of_several
from stratax.tensorflow.estimator.heads._head import Head
from stratax.tensorflow.estimator.heads._keys import MetricKeys
from stratax.tensorflow.estimator.heads._measures import scalar_weight
from stratax.tensorflow.ops.calls.creation import on_device


class MultiHead(Head):
    """Several heads on one model, as `tf.estimator.MultiHead`: their losses are added up.

    Labels are a dict by the heads' names; logits, too, or one array of all, side by side. Predictions have keys
    `(name, key)`, metrics `key/name`.

    Args:
        heads: The heads, each with a name of its own.
        head_weights: What each head's loss is multiplied by; None for 1.

    Raises:
        BadArgumentError: If there is no head, one has no name, or weights are not as many.

    Example:
        >>> import numpy as np
        >>> import stratax.estimator as estimator
        >>> heads = [estimator.RegressionHead(name="a"), estimator.RegressionHead(name="b")]
        >>> head = estimator.MultiHead(heads, head_weights=[1.0, 2.0])
        >>> float(head.loss({"a": np.array([1.0]), "b": np.array([1.0])}, np.array([[2.0, 3.0]])))
        9.0
    """

    def __init__(self, heads: Sequence[Head], head_weights: Sequence[float] | None = None) -> None:
        if not heads:
            raise errors.BadArgumentError(f"Must specify heads. Received: heads={shown(heads)}.")
        if head_weights and len(head_weights) != len(heads):
            raise errors.BadArgumentError(
                f"heads and head_weights must have the same size. Received: {len(heads)} heads, {len(head_weights)} "
                "weights."
            )
        names = [head.name for head in heads]
        if None in names or len(set(names)) != len(names):
            raise errors.BadArgumentError(
                "All given heads must have a name of their own. Received: names "
                f"{shown(names)}. Pass name=... to each head."
            )
        self._heads = {str(head.name): head for head in heads}
        self._weights = tuple(head_weights) if head_weights else (1.0,) * len(heads)

    @property
    def name(self) -> str:
        return "_".join(self._heads)

    @property
    def logits_dimension(self) -> int:
        return sum(head.logits_dimension for head in self._heads.values())

    @property
    def loss_reduction(self) -> str:
        found = {head.loss_reduction for head in self._heads.values()}
        if len(found) > 1:
            raise errors.BadArgumentError(
                f"The loss_reduction must be the same for different heads. Received: {shown(sorted(found))}."
            )
        return found.pop()

    @property
    def _training_scope(self) -> str:
        # In TensorFlow each of the heads has entered the scope once before.
        return f"training_{len(self._heads)}"

    def loss(
        self,
        labels: object,
        logits: object,
        features: object = None,
        mode: str | None = None,
        regularization_losses: Sequence[Any] | None = None,
    ) -> Any:
        parts, own = self._parts(logits), self._labels(labels)
        total = sum(
            weight * head.loss(own[name], parts[name], features, mode)
            for (name, head), weight in zip(self._heads.items(), self._weights, strict=True)
        )
        return total if regularization_losses is None else total + sum(regularization_losses)

    def predictions(self, logits: object, keys: Sequence[str] | None = None) -> dict[Any, Any]:
        del keys
        parts = self._parts(logits)
        return {
            (name, key): value
            for name, head in self._heads.items()
            for key, value in head.predictions(parts[name]).items()
        }

    def export_outputs(self, logits: object, predictions: Mapping[Any, Any]) -> dict[str, Any]:
        del predictions
        parts = self._parts(logits)
        own = {
            name: head.export_outputs(parts[name], head.predictions(parts[name]))
            for name, head in self._heads.items()
        }
        return of_several({name: each for name, each in own.items() if each is not None})

    def metrics(self, regularization_losses: Sequence[Any] | None = None) -> dict[str, Any]:
        keys = [f"{MetricKeys.LOSS}/{name}" for name in self._heads]
        if regularization_losses is not None:
            keys.insert(0, self._key(MetricKeys.LOSS_REGULARIZATION))
        return {key: keras.metrics.Mean(name=key.replace("/", "_")) for key in keys}

    def update_metrics(
        self,
        eval_metrics: dict[str, Any],
        features: object,
        logits: object,
        labels: object,
        mode: str | None = None,
        regularization_losses: Sequence[Any] | None = None,
    ) -> dict[str, Any]:
        parts, own = self._parts(logits), self._labels(labels)
        if regularization_losses is not None:
            total = jnp.asarray(sum(regularization_losses))
            metric = eval_metrics[self._key(MetricKeys.LOSS_REGULARIZATION)]
            metric.update_state(total, sample_weight=scalar_weight())
        for name, head in self._heads.items():
            loss = head.loss(own[name], parts[name], features, mode)
            eval_metrics[f"{MetricKeys.LOSS}/{name}"].update_state(loss, sample_weight=scalar_weight())
            # As in TensorFlow they are made here: a second batch outside of a model_fn finds those of the first.
            if not self._has_metrics_of(name, eval_metrics):
                eval_metrics |= head.metrics()
            head.update_metrics(eval_metrics, features, parts[name], own[name])
        return eval_metrics

    def _has_metrics_of(self, name: str, eval_metrics: Mapping[str, Any]) -> bool:
        return f"{MetricKeys.LOSS_MEAN}/{name}" in eval_metrics

    def _parts(self, logits: object) -> Mapping[str, Any]:
        """Return the logits of each head."""
        if isinstance(logits, Mapping):
            self._check_names("logits", logits)
            return logits
        given = on_device(logits)
        if given.shape[-1] != self.logits_dimension:
            sizes = {name: head.logits_dimension for name, head in self._heads.items()}
            raise errors.BadArgumentError(
                f"Could not split logits among the heads. Expected: a last dimension of {self.logits_dimension}, of "
                f"{shown(sizes)}. Received: logits.shape={tuple(given.shape)}."
            )
        ends, parts = 0, {}
        for name, head in self._heads.items():
            parts[name] = given[..., ends : ends + head.logits_dimension]
            ends += head.logits_dimension
        return parts

    def _labels(self, labels: object) -> Mapping[str, Any]:
        if not isinstance(labels, Mapping):
            raise errors.BadArgumentError(
                f"labels must be a dict by the heads' names. Expected: {shown(list(self._heads))}. Received: "
                f"labels={shown(labels)}."
            )
        self._check_names("labels", labels)
        return labels

    def _check_names(self, what: str, given: Mapping[str, Any]) -> None:
        missing = [name for name in self._heads if name not in given]
        if missing:
            raise errors.BadArgumentError(
                f"{what} has missing values for heads. Expected: {shown(list(self._heads))}. Received: "
                f"{shown(sorted(given))}."
            )
