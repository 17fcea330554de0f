"""Models that look at no feature, as TensorFlow 1's estimators (estimator layer)."""

import functools
from collections.abc import Sequence
from typing import Any

from stratax.tensorflow import v1
from stratax.tensorflow.estimator._estimator import Estimator
from stratax.tensorflow.estimator._run_config import RunConfig
from stratax.tensorflow.estimator.canned._baseline import baseline_part
from stratax.tensorflow.estimator.canned._parts import model_fn_of
from stratax.tensorflow.estimator.heads import Head, classifier_head, regressor_head

_model_fn = functools.partial(model_fn_of, is_first=True)


class BaselineClassifier(Estimator):
    """Learns how frequent classes are, as `tf.compat.v1.estimator.BaselineClassifier`.

    Args:
        model_dir: Where checkpoints are.
        n_classes: The number of classes, at least 2.
        weight_column: The feature of weights, or a numeric column.
        label_vocabulary: The classes' names; None where labels are numbers.
        optimizer: A name (`"Adagrad"`, `"Adam"`, `"Ftrl"`, `"RMSProp"`, `"SGD"`, with a learning rate of 0.3),
            an optimizer, or a function without arguments that makes one in each trace of the model.
        config: How it runs.
        loss_reduction: How the examples' losses become one number.

    Raises:
        BadArgumentError: If an argument can't be.
    """

    def __init__(
        self,
        model_dir: str | None = None,
        n_classes: int = 2,
        weight_column: Any = None,
        label_vocabulary: Sequence[str] | None = None,
        optimizer: Any = "Ftrl",
        config: RunConfig | None = None,
        loss_reduction: str = v1.losses.Reduction.SUM,
    ) -> None:
        head = classifier_head(n_classes, weight_column, label_vocabulary, loss_reduction, is_first=True)
        super().__init__(_model_fn(head, [baseline_part(optimizer, weight_column)]), model_dir, config)


class BaselineRegressor(Estimator):
    """Learns the mean of labels, as `tf.compat.v1.estimator.BaselineRegressor`.

    Args:
        model_dir: Where checkpoints are.
        label_dimension: How many numbers an example has.
        weight_column: The feature of weights, or a numeric column.
        optimizer: A name (`"Adagrad"`, `"Adam"`, `"Ftrl"`, `"RMSProp"`, `"SGD"`, with a learning rate of 0.3),
            an optimizer, or a function without arguments that makes one in each trace of the model.
        config: How it runs.
        loss_reduction: How the examples' losses become one number.

    Raises:
        BadArgumentError: If an argument can't be.
    """

    def __init__(
        self,
        model_dir: str | None = None,
        label_dimension: int = 1,
        weight_column: Any = None,
        optimizer: Any = "Ftrl",
        config: RunConfig | None = None,
        loss_reduction: str = v1.losses.Reduction.SUM,
    ) -> None:
        head = regressor_head(label_dimension, weight_column, loss_reduction, is_first=True)
        super().__init__(_model_fn(head, [baseline_part(optimizer, weight_column)]), model_dir, config)


class BaselineEstimator(Estimator):
    """A bias with a head of your own, as `tf.compat.v1.estimator.BaselineEstimator`.

    Args:
        head: The head, of those that functions of `tf.contrib.estimator` give or of `tf.estimator`'s.
        model_dir: Where checkpoints are.
        optimizer: A name (`"Adagrad"`, `"Adam"`, `"Ftrl"`, `"RMSProp"`, `"SGD"`, with a learning rate of 0.3),
            an optimizer, or a function without arguments that makes one in each trace of the model.
        config: How it runs.

    Raises:
        BadArgumentError: If an argument can't be.
        BadTypeError: If `head` is none.
    """

    def __init__(
        self,
        head: Head,
        model_dir: str | None = None,
        optimizer: Any = "Ftrl",
        config: RunConfig | None = None,
    ) -> None:
        super().__init__(_model_fn(head, [baseline_part(optimizer)]), model_dir, config)
