"""Linear models and deep networks, trained together, as TensorFlow 1's estimators (estimator layer)."""

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from stratax.tensorflow import v1
from stratax.tensorflow.estimator._estimator import Estimator
from stratax.tensorflow.estimator._run_config import RunConfig
from stratax.tensorflow.estimator.canned._combined import combined_parts
from stratax.tensorflow.estimator.canned._parts import model_fn_of
from stratax.tensorflow.estimator.heads import Head, classifier_head, regressor_head
from stratax.tensorflow.ops.nn import nn

_model_fn = functools.partial(model_fn_of, is_first=True)


class DNNLinearCombinedClassifier(Estimator):
    """A linear model and a network that classify together, as `tf.compat.v1.estimator.DNNLinearCombinedClassifier`.

    Args:
        model_dir: Where checkpoints are.
        linear_feature_columns: Dense and categorical columns of the linear model.
        linear_optimizer: As `optimizer` of :class:`LinearClassifier`; one that is named has a learning rate of
            0.005 at most.
        dnn_feature_columns: Dense columns of the network.
        dnn_optimizer: Likewise, with a learning rate of 0.001.
        dnn_hidden_units: The sizes of hidden layers.
        dnn_activation_fn: The activation of hidden layers.
        dnn_dropout: The chance by which a hidden layer's value is dropped in training.
        n_classes: The number of classes, at least 2.
        weight_column: The feature of weights, or a numeric column.
        label_vocabulary: The classes' names; None where labels are numbers.
        input_layer_partitioner: Ignored: a strategy places variables.
        config: How it runs.
        warm_start_from: What the first values of variables are taken from.
        loss_reduction: How the examples' losses become one number.
        batch_norm: Whether hidden layers are normalized.
        linear_sparse_combiner: How the weights of several ids become one: `"sum"`, `"mean"` or `"sqrtn"`.

    Raises:
        BadArgumentError: If an argument can't be.
    """

    def __init__(
        self,
        model_dir: str | None = None,
        linear_feature_columns: Iterable[Any] | None = None,
        linear_optimizer: Any = "Ftrl",
        dnn_feature_columns: Iterable[Any] | None = None,
        dnn_optimizer: Any = "Adagrad",
        dnn_hidden_units: Iterable[int] | None = None,
        dnn_activation_fn: Callable[[Any], Any] = nn.relu,
        dnn_dropout: float | None = None,
        n_classes: int = 2,
        weight_column: Any = None,
        label_vocabulary: Sequence[str] | None = None,
        input_layer_partitioner: Any = None,
        config: RunConfig | None = None,
        warm_start_from: Any = None,
        loss_reduction: str = v1.losses.Reduction.SUM,
        batch_norm: bool = False,
        linear_sparse_combiner: str = "sum",
    ) -> None:
        del input_layer_partitioner
        parts = combined_parts(
            linear_feature_columns,
            linear_optimizer,
            dnn_feature_columns,
            dnn_optimizer,
            dnn_hidden_units,
            dnn_activation_fn,
            dnn_dropout,
            batch_norm,
            linear_sparse_combiner,
        )
        head = classifier_head(n_classes, weight_column, label_vocabulary, loss_reduction, is_first=True)
        super().__init__(_model_fn(head, parts), model_dir, config, warm_start_from=warm_start_from)


class DNNLinearCombinedRegressor(Estimator):
    """A linear model and a network that predict numbers, as `tf.compat.v1.estimator.DNNLinearCombinedRegressor`.

    Args:
        model_dir: Where checkpoints are.
        linear_feature_columns: Dense and categorical columns of the linear model.
        linear_optimizer: As `optimizer` of :class:`LinearClassifier`; one that is named has a learning rate of
            0.005 at most.
        dnn_feature_columns: Dense columns of the network.
        dnn_optimizer: Likewise, with a learning rate of 0.001.
        dnn_hidden_units: The sizes of hidden layers.
        dnn_activation_fn: The activation of hidden layers.
        dnn_dropout: The chance by which a hidden layer's value is dropped in training.
        label_dimension: How many numbers an example has.
        weight_column: The feature of weights, or a numeric column.
        input_layer_partitioner: Ignored: a strategy places variables.
        config: How it runs.
        warm_start_from: What the first values of variables are taken from.
        loss_reduction: How the examples' losses become one number.
        batch_norm: Whether hidden layers are normalized.
        linear_sparse_combiner: How the weights of several ids become one: `"sum"`, `"mean"` or `"sqrtn"`.

    Raises:
        BadArgumentError: If an argument can't be.
    """

    def __init__(
        self,
        model_dir: str | None = None,
        linear_feature_columns: Iterable[Any] | None = None,
        linear_optimizer: Any = "Ftrl",
        dnn_feature_columns: Iterable[Any] | None = None,
        dnn_optimizer: Any = "Adagrad",
        dnn_hidden_units: Iterable[int] | None = None,
        dnn_activation_fn: Callable[[Any], Any] = nn.relu,
        dnn_dropout: float | None = None,
        label_dimension: int = 1,
        weight_column: Any = None,
        input_layer_partitioner: Any = None,
        config: RunConfig | None = None,
        warm_start_from: Any = None,
        loss_reduction: str = v1.losses.Reduction.SUM,
        batch_norm: bool = False,
        linear_sparse_combiner: str = "sum",
    ) -> None:
        del input_layer_partitioner
        parts = combined_parts(
            linear_feature_columns,
            linear_optimizer,
            dnn_feature_columns,
            dnn_optimizer,
            dnn_hidden_units,
            dnn_activation_fn,
            dnn_dropout,
            batch_norm,
            linear_sparse_combiner,
        )
        head = regressor_head(label_dimension, weight_column, loss_reduction, is_first=True)
        super().__init__(_model_fn(head, parts), model_dir, config, warm_start_from=warm_start_from)


class DNNLinearCombinedEstimator(Estimator):
    """A linear model and a network with a head of your own, as `tf.compat.v1.estimator.DNNLinearCombinedEstimator`.

    Args:
        head: The head, of those that functions of `tf.contrib.estimator` give or of `tf.estimator`'s.
        model_dir: Where checkpoints are.
        linear_feature_columns: Dense and categorical columns of the linear model.
        linear_optimizer: As `optimizer` of :class:`LinearClassifier`; one that is named has a learning rate of
            0.005 at most.
        dnn_feature_columns: Dense columns of the network.
        dnn_optimizer: Likewise, with a learning rate of 0.001.
        dnn_hidden_units: The sizes of hidden layers.
        dnn_activation_fn: The activation of hidden layers.
        dnn_dropout: The chance by which a hidden layer's value is dropped in training.
        input_layer_partitioner: Ignored: a strategy places variables.
        config: How it runs.
        batch_norm: Whether hidden layers are normalized.
        linear_sparse_combiner: How the weights of several ids become one: `"sum"`, `"mean"` or `"sqrtn"`.

    Raises:
        BadArgumentError: If an argument can't be.
        BadTypeError: If `head` is none.
    """

    def __init__(
        self,
        head: Head,
        model_dir: str | None = None,
        linear_feature_columns: Iterable[Any] | None = None,
        linear_optimizer: Any = "Ftrl",
        dnn_feature_columns: Iterable[Any] | None = None,
        dnn_optimizer: Any = "Adagrad",
        dnn_hidden_units: Iterable[int] | None = None,
        dnn_activation_fn: Callable[[Any], Any] = nn.relu,
        dnn_dropout: float | None = None,
        input_layer_partitioner: Any = None,
        config: RunConfig | None = None,
        batch_norm: bool = False,
        linear_sparse_combiner: str = "sum",
    ) -> None:
        del input_layer_partitioner
        parts = combined_parts(
            linear_feature_columns,
            linear_optimizer,
            dnn_feature_columns,
            dnn_optimizer,
            dnn_hidden_units,
            dnn_activation_fn,
            dnn_dropout,
            batch_norm,
            linear_sparse_combiner,
        )
        super().__init__(_model_fn(head, parts), model_dir, config)
