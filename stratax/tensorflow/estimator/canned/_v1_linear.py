"""Linear models as TensorFlow 1's estimators (estimator layer)."""

import functools
from collections.abc import Iterable, Sequence
from typing import Any

from stratax.tensorflow import v1
from stratax.tensorflow.estimator._estimator import Estimator
from stratax.tensorflow.estimator._run_config import RunConfig
from stratax.tensorflow.estimator.canned._linear import linear_model_fn
from stratax.tensorflow.estimator.heads import Head, classifier_head, regressor_head

# As TensorFlow 2.15 names slots of variables that it could divide among parameter servers.
_SLOT_INFIX = "part_0"

_model_fn = functools.partial(linear_model_fn, is_first=True, slot_infix=_SLOT_INFIX)


class LinearClassifier(Estimator):
    """A linear model that classifies, as `tf.compat.v1.estimator.LinearClassifier`.

    Args:
        feature_columns: Dense and categorical columns of `tf.feature_column`.
        model_dir: Where checkpoints are.
        n_classes: The number of classes, at least 2.
        weight_column: The feature of weights, or a numeric column.
        label_vocabulary: The classes' names; None where labels are numbers.
        optimizer: A name (`"Adagrad"`, `"Adam"`, `"Ftrl"`, `"RMSProp"`, `"SGD"`, with a learning rate of 0.2),
            an optimizer, or a function without arguments that makes one in each trace of the model; None for
            Ftrl.
        config: How it runs.
        partitioner: Ignored: a strategy places variables.
        warm_start_from: What the first values of variables are taken from.
        loss_reduction: How the examples' losses become one number.
        sparse_combiner: How the weights of several ids become one: `"sum"`, `"mean"` or `"sqrtn"`.

    Raises:
        BadArgumentError: If an argument can't be.
    """

    def __init__(
        self,
        feature_columns: Iterable[Any],
        model_dir: str | None = None,
        n_classes: int = 2,
        weight_column: Any = None,
        label_vocabulary: Sequence[str] | None = None,
        optimizer: Any = "Ftrl",
        config: RunConfig | None = None,
        partitioner: Any = None,
        warm_start_from: Any = None,
        loss_reduction: str = v1.losses.Reduction.SUM,
        sparse_combiner: str = "sum",
    ) -> None:
        del partitioner
        head = classifier_head(n_classes, weight_column, label_vocabulary, loss_reduction, is_first=True)
        model_fn = _model_fn(head, feature_columns, sparse_combiner, optimizer)
        super().__init__(model_fn, model_dir, config, warm_start_from=warm_start_from)


class LinearRegressor(Estimator):
    """A linear model that predicts numbers, as `tf.compat.v1.estimator.LinearRegressor`.

    Args:
        feature_columns: Dense and categorical columns of `tf.feature_column`.
        model_dir: Where checkpoints are.
        label_dimension: How many numbers an example has.
        weight_column: The feature of weights, or a numeric column.
        optimizer: A name (`"Adagrad"`, `"Adam"`, `"Ftrl"`, `"RMSProp"`, `"SGD"`, with a learning rate of 0.2),
            an optimizer, or a function without arguments that makes one in each trace of the model; None for
            Ftrl.
        config: How it runs.
        partitioner: Ignored: a strategy places variables.
        warm_start_from: What the first values of variables are taken from.
        loss_reduction: How the examples' losses become one number.
        sparse_combiner: How the weights of several ids become one: `"sum"`, `"mean"` or `"sqrtn"`.

    Raises:
        BadArgumentError: If an argument can't be.
    """

    def __init__(
        self,
        feature_columns: Iterable[Any],
        model_dir: str | None = None,
        label_dimension: int = 1,
        weight_column: Any = None,
        optimizer: Any = "Ftrl",
        config: RunConfig | None = None,
        partitioner: Any = None,
        warm_start_from: Any = None,
        loss_reduction: str = v1.losses.Reduction.SUM,
        sparse_combiner: str = "sum",
    ) -> None:
        del partitioner
        head = regressor_head(label_dimension, weight_column, loss_reduction, is_first=True)
        model_fn = _model_fn(head, feature_columns, sparse_combiner, optimizer)
        super().__init__(model_fn, model_dir, config, warm_start_from=warm_start_from)


class LinearEstimator(Estimator):
    """A linear model with a head of your own, as `tf.compat.v1.estimator.LinearEstimator`.

    Args:
        head: The head, of those that functions of `tf.contrib.estimator` give or of `tf.estimator`'s.
        feature_columns: Dense and categorical columns of `tf.feature_column`.
        model_dir: Where checkpoints are.
        optimizer: A name (`"Adagrad"`, `"Adam"`, `"Ftrl"`, `"RMSProp"`, `"SGD"`, with a learning rate of 0.2),
            an optimizer, or a function without arguments that makes one in each trace of the model; None for
            Ftrl.
        config: How it runs.
        partitioner: Ignored: a strategy places variables.
        sparse_combiner: How the weights of several ids become one: `"sum"`, `"mean"` or `"sqrtn"`.
        warm_start_from: What the first values of variables are taken from.

    Raises:
        BadArgumentError: If an argument can't be.
        BadTypeError: If `head` is none.
    """

    def __init__(
        self,
        head: Head,
        feature_columns: Iterable[Any],
        model_dir: str | None = None,
        optimizer: Any = "Ftrl",
        config: RunConfig | None = None,
        partitioner: Any = None,
        sparse_combiner: str = "sum",
        warm_start_from: Any = None,
    ) -> None:
        del partitioner
        model_fn = _model_fn(head, feature_columns, sparse_combiner, optimizer)
        super().__init__(model_fn, model_dir, config, warm_start_from=warm_start_from)
