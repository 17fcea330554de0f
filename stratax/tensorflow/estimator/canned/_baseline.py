"""Models that look at no feature, as estimators (estimator layer)."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import jax.numpy as jnp

from stratax import errors
from stratax.base.shown import shown
from stratax.tensorflow import v1
from stratax.tensorflow.estimator._estimator import Estimator
from stratax.tensorflow.estimator._run_config import RunConfig
from stratax.tensorflow.estimator.canned._parts import ModelPart, model_fn_of
from stratax.tensorflow.estimator.heads import Head, classifier_head, regressor_head

# The learning rate of an optimizer that is named.
_LEARNING_RATE = 0.3


@dataclasses.dataclass(frozen=True, slots=True)
class Baseline:
    """A bias that is all there is.

    Attributes:
        weight_column: The feature of weights, of which no size is asked.
    """

    weight_column: Any = None

    def logits(self, features: object, mode: str, units: int) -> Any:
        """Return so many logits, computed in the variable scope that is entered."""
        del mode
        bias = v1.get_variable("bias", [units], initializer=v1.zeros_initializer())
        return bias.value * jnp.ones((self._rows(features), units))

    def _rows(self, features: Any) -> int:
        key = getattr(self.weight_column, "key", self.weight_column)
        given = features if isinstance(features, Mapping) else {"features": features}
        rows = {
            name: value.shape[0] for name, value in given.items() if name != key and value.shape is not None
        }
        if len(set(rows.values())) != 1:
            raise errors.BadArgumentError(
                "The features of a batch have one number of examples. Expected: at least one feature, each of shape "
                f"(batch, ...). Received: {shown(rows)}, by name. Mend the input_fn."
            )
        return next(iter(rows.values()))


def baseline_part(optimizer: object, weight_column: object = None) -> ModelPart:
    """Return a bias as a part of a model."""
    return ModelPart(
        name="baseline",
        logits=Baseline(weight_column).logits,
        optimizer=optimizer,
        learning_rate=_LEARNING_RATE,
        is_outside=True,
    )


class BaselineClassifier(Estimator):
    """Learns how frequent classes are, as `tf.estimator.BaselineClassifier`.

    Args:
        model_dir: Where checkpoints are.
        n_classes: The number of classes, at least 2.
        weight_column: The feature of the examples' weights, or a numeric column.
        label_vocabulary: The classes' names; None where labels are numbers.
        optimizer: A name (`"Adagrad"`, `"Adam"`, `"Ftrl"`, `"RMSProp"`, `"SGD"`, with a learning rate of 0.3), an
            optimizer, or a function without arguments that makes one in each trace of the model.
        config: How it runs.
        loss_reduction: How the examples' losses become one number.

    Raises:
        BadArgumentError: If an argument can't be.
    """

    _is_first = False

    def __init__(
        self,
        model_dir: str | None = None,
        n_classes: int = 2,
        weight_column: object = None,
        label_vocabulary: Sequence[str] | None = None,
        optimizer: object = "Ftrl",
        config: RunConfig | None = None,
        loss_reduction: str = "sum_over_batch_size",
    ) -> None:
        head = classifier_head(
            n_classes, weight_column, label_vocabulary, loss_reduction, is_first=self._is_first
        )
        Estimator.__init__(
            self,
            model_fn_of(head, [baseline_part(optimizer, weight_column)], is_first=self._is_first),
            model_dir,
            config,
        )


class BaselineRegressor(Estimator):
    """Learns the mean of labels, as `tf.estimator.BaselineRegressor`.

    Args:
        model_dir: Where checkpoints are.
        label_dimension: How many numbers an example has.
        weight_column: The feature of weights, or a numeric column.
        optimizer: As of :class:`BaselineClassifier`.
        config: How it runs.
        loss_reduction: How the losses become one number.

    Raises:
        BadArgumentError: If an argument can't be.
    """

    _is_first = False

    def __init__(
        self,
        model_dir: str | None = None,
        label_dimension: int = 1,
        weight_column: object = None,
        optimizer: object = "Ftrl",
        config: RunConfig | None = None,
        loss_reduction: str = "sum_over_batch_size",
    ) -> None:
        head = regressor_head(label_dimension, weight_column, loss_reduction, is_first=self._is_first)
        Estimator.__init__(
            self,
            model_fn_of(head, [baseline_part(optimizer, weight_column)], is_first=self._is_first),
            model_dir,
            config,
        )


class BaselineEstimator(Estimator):
    """A bias with a head of your own, as `tf.estimator.BaselineEstimator`.

    Args:
        head: The head.
        model_dir: Where checkpoints are.
        optimizer: As of :class:`BaselineClassifier`.
        config: How it runs.

    Raises:
        BadTypeError: If `head` is none.
    """

    _is_first = False

    def __init__(
        self,
        head: Head,
        model_dir: str | None = None,
        optimizer: object = "Ftrl",
        config: RunConfig | None = None,
    ) -> None:
        Estimator.__init__(
            self, model_fn_of(head, [baseline_part(optimizer)], is_first=self._is_first), model_dir, config
        )
