"""Linear models as estimators (estimator layer)."""

import dataclasses
import math
from collections.abc import Iterable, Sequence
from typing import Any

import jax.numpy as jnp

from stratax import errors
from stratax.base.shown import shown
from stratax.tensorflow import feature_column, v1
from stratax.tensorflow.estimator._estimator import Estimator
from stratax.tensorflow.estimator._run_config import RunConfig
from stratax.tensorflow.estimator.canned._parts import (
    ModelFunction,
    ModelPart,
    check_columns,
    check_features,
    model_fn_of,
    write_activity,
)
from stratax.tensorflow.estimator.canned._sdca import LinearSDCA, sdca_model_fn
from stratax.tensorflow.estimator.heads import Head, classifier_head, regressor_head

NAME = "linear"
# The learning rate of an optimizer that is named.
LEARNING_RATE = 0.2
# As TensorFlow 2.15 names slots of variables of TensorFlow 1, which it could divide among parameter servers.
_SLOT_INFIX = "part_0"
_COMBINERS = ("sum", "mean", "sqrtn")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A weighted sum of what feature columns give.

    Attributes:
        feature_columns: The columns.
        sparse_combiner: How the weights of several ids become one.
        is_combined: Whether there is another part of the model, too.
    """

    feature_columns: Sequence[Any]
    sparse_combiner: str
    is_combined: bool = False

    def __post_init__(self) -> None:
        columns = check_columns("feature_columns", self.feature_columns)
        object.__setattr__(self, "feature_columns", columns)
        if self.sparse_combiner not in _COMBINERS:
            raise errors.BadArgumentError(
                f"sparse_combiner must be one of {', '.join(_COMBINERS)}. Received: "
                f"sparse_combiner={shown(self.sparse_combiner)}."
            )

    def logits(self, features: object, mode: str, units: int) -> Any:
        """Return so many logits, computed in the variable scope that is entered."""
        del mode
        return self.logits_and_variables(features, units)[0]

    def logits_and_variables(self, features: object, units: int) -> tuple[Any, dict[Any, Any]]:
        """Return so many logits, and the variable of each column, and of the bias under `"bias"`."""
        made: dict[Any, Any] = {}
        given = check_features(features)
        logits = feature_column.linear_model(
            given, self.feature_columns, units, self.sparse_combiner, cols_to_vars=made
        )
        self._write_summaries(logits, made, units)
        return logits, {column: variable for column, (variable,) in made.items()}

    def _write_summaries(self, logits: object, made: dict[Any, Any], units: int) -> None:
        (bias,) = made["bias"]
        variables = [
            variable.value for key, variables in made.items() if key != "bias" for variable in variables
        ]
        if units > 1:
            v1.summary.histogram("bias", jnp.array(bias.value, copy=True))
        else:
            v1.summary.scalar("bias", bias.value[0])
        zeros = sum(jnp.sum(value == 0) for value in variables)
        v1.summary.scalar("fraction_of_zero_weights", zeros / sum(value.size for value in variables))
        if self.is_combined:
            write_activity(logits, NAME)


def linear_part(
    line: Line, optimizer: object, learning_rate: float, slot_infix: str | None = None
) -> ModelPart:
    """Return a linear model as a part of a model."""
    return ModelPart(
        name=NAME, logits=line.logits, optimizer=optimizer, learning_rate=learning_rate, slot_infix=slot_infix
    )


def optimizer_and_rate(optimizer: object, line: Line) -> tuple[Any, float]:
    """Return the optimizer, and its learning rate if it is named: without one Ftrl, slower for many columns."""
    if optimizer is None:
        return "Ftrl", min(LEARNING_RATE, 1.0 / math.sqrt(len(line.feature_columns)))
    return optimizer, LEARNING_RATE


def linear_model_fn(
    head: Head,
    feature_columns: Any,
    sparse_combiner: str,
    optimizer: Any,
    *,
    is_first: bool,
) -> ModelFunction:
    """Return the `model_fn` of a linear model.

    Args:
        head: The head.
        feature_columns: The columns.
        sparse_combiner: How the weights of several ids become one.
        optimizer: What trains it.
        is_first: Whether it is a model of TensorFlow 1, by its names and optimizers.
    """
    slot_infix = _SLOT_INFIX if is_first else None
    line = Line(feature_columns=feature_columns, sparse_combiner=sparse_combiner)
    if isinstance(optimizer, LinearSDCA):
        return sdca_model_fn(head, line, optimizer, NAME, slot_infix)
    part = linear_part(line, *optimizer_and_rate(optimizer, line), slot_infix)
    return model_fn_of(head, [part], is_first=is_first)


class LinearClassifier(Estimator):
    """A linear model that classifies, as `tf.estimator.LinearClassifier`.

    Args:
        feature_columns: Dense and categorical columns of `tf.feature_column`.
        model_dir: Where checkpoints are.
        n_classes: The number of classes, at least 2.
        weight_column: The feature of the examples' weights, or a numeric column.
        label_vocabulary: The classes' names; None where labels are numbers.
        optimizer: A name (`"Adagrad"`, `"Adam"`, `"Ftrl"`, `"RMSProp"`, `"SGD"`, with a learning rate of 0.2), an
            optimizer, or a function without arguments that makes one in each trace of the model; None for Ftrl. A
            :class:`LinearSDCA` needs two classes.
        config: How it runs.
        warm_start_from: What the first values of variables are taken from.
        loss_reduction: How the examples' losses become one number.
        sparse_combiner: How the weights of several ids become one: `"sum"`, `"mean"` or `"sqrtn"`.

    Raises:
        BadArgumentError: If an argument can't be.

    Example:
        >>> import stratax.estimator as estimator, stratax.feature_column as fc
        >>> made = estimator.LinearClassifier([fc.numeric_column("x")], optimizer="SGD")
    """

    _is_first = False

    def __init__(
        self,
        feature_columns: Iterable[Any],
        model_dir: str | None = None,
        n_classes: int = 2,
        weight_column: object = None,
        label_vocabulary: Sequence[str] | None = None,
        optimizer: object = "Ftrl",
        config: RunConfig | None = None,
        warm_start_from: object = None,
        loss_reduction: str = "sum_over_batch_size",
        sparse_combiner: str = "sum",
    ) -> None:
        head = classifier_head(
            n_classes, weight_column, label_vocabulary, loss_reduction, is_first=self._is_first
        )
        model_fn = linear_model_fn(head, feature_columns, sparse_combiner, optimizer, is_first=self._is_first)
        Estimator.__init__(self, model_fn, model_dir, config, warm_start_from=warm_start_from)


class LinearRegressor(Estimator):
    """A linear model that predicts numbers, as `tf.estimator.LinearRegressor`.

    Args:
        feature_columns: Dense and categorical columns of `tf.feature_column`.
        model_dir: Where checkpoints are.
        label_dimension: How many numbers an example has.
        weight_column: The feature of weights, or a numeric column.
        optimizer: As of :class:`LinearClassifier`.
        config: How it runs.
        warm_start_from: What the first values of variables are taken from.
        loss_reduction: How the losses become one number.
        sparse_combiner: How the weights of several ids become one: `"sum"`, `"mean"` or `"sqrtn"`.

    Raises:
        BadArgumentError: If an argument can't be.
    """

    _is_first = False

    def __init__(
        self,
        feature_columns: Iterable[Any],
        model_dir: str | None = None,
        label_dimension: int = 1,
        weight_column: object = None,
        optimizer: object = "Ftrl",
        config: RunConfig | None = None,
        warm_start_from: object = None,
        loss_reduction: str = "sum_over_batch_size",
        sparse_combiner: str = "sum",
    ) -> None:
        head = regressor_head(label_dimension, weight_column, loss_reduction, is_first=self._is_first)
        model_fn = linear_model_fn(head, feature_columns, sparse_combiner, optimizer, is_first=self._is_first)
        Estimator.__init__(self, model_fn, model_dir, config, warm_start_from=warm_start_from)


class LinearEstimator(Estimator):
    """A linear model with a head of your own, as `tf.estimator.LinearEstimator`.

    Args:
        head: The head.
        feature_columns: Dense and categorical columns of `tf.feature_column`.
        model_dir: Where checkpoints are.
        optimizer: As of :class:`LinearClassifier`.
        config: How it runs.
        sparse_combiner: How the weights of several ids become one: `"sum"`, `"mean"` or `"sqrtn"`.
        warm_start_from: What the first values of variables are taken from.

    Raises:
        BadArgumentError: If an argument can't be.
        BadTypeError: If `head` is none.
    """

    _is_first = False

    def __init__(
        self,
        head: Head,
        feature_columns: Iterable[Any],
        model_dir: str | None = None,
        optimizer: object = "Ftrl",
        config: RunConfig | None = None,
        sparse_combiner: str = "sum",
        warm_start_from: object = None,
    ) -> None:
        model_fn = linear_model_fn(head, feature_columns, sparse_combiner, optimizer, is_first=self._is_first)
        Estimator.__init__(self, model_fn, model_dir, config, warm_start_from=warm_start_from)
