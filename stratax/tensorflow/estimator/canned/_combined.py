"""Linear models and deep networks, trained together, as estimators (estimator layer)."""

import dataclasses
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from stratax import errors
from stratax.base.shown import shown
from stratax.tensorflow.estimator._estimator import Estimator
from stratax.tensorflow.estimator._run_config import RunConfig
from stratax.tensorflow.estimator.canned._dnn import DenseNetwork, dnn_part
from stratax.tensorflow.estimator.canned._linear import Line, linear_part
from stratax.tensorflow.estimator.canned._parts import ModelPart, model_fn_of
from stratax.tensorflow.estimator.heads import Head, classifier_head, regressor_head
from stratax.tensorflow.ops.nn import nn

# The learning rates of optimizers that are named.
_DNN_LEARNING_RATE = 0.001
_LINEAR_LEARNING_RATE = 0.005


def make_combined_parts(
    linear_feature_columns: Any,
    linear_optimizer: Any,
    dnn_feature_columns: Any,
    dnn_optimizer: Any,
    dnn_hidden_units: Any,
    dnn_activation_fn: Any,
    dnn_dropout: float | None,
    batch_norm: bool,
    linear_sparse_combiner: str,
) -> list[ModelPart]:
    """Return a network and a linear model as parts of a model, or that one which has columns.

    Raises:
        BadArgumentError: If neither has, the network has no layers, or another argument can't be.
    """
    linear_columns, dnn_columns = tuple(linear_feature_columns or ()), tuple(dnn_feature_columns or ())
    if not linear_columns and not dnn_columns:
        raise errors.BadArgumentError(
            "Either linear_feature_columns or dnn_feature_columns must be defined. Received: "
            f"linear_feature_columns={shown(linear_feature_columns)}, dnn_feature_columns={shown(dnn_feature_columns)}."
        )
    parts = []
    if dnn_columns:
        if not dnn_hidden_units:
            raise errors.BadArgumentError(
                "dnn_hidden_units must be defined when dnn_feature_columns is specified. Received: "
                f"dnn_hidden_units={shown(dnn_hidden_units)}. Pass sizes of layers, such as [128, 64]."
            )
        network = DenseNetwork(
            hidden_units=dnn_hidden_units,
            feature_columns=dnn_columns,
            activation_fn=dnn_activation_fn,
            dropout=dnn_dropout,
            batch_norm=batch_norm,
        )
        parts.append(
            dataclasses.replace(dnn_part(network, dnn_optimizer, _DNN_LEARNING_RATE), is_outside=True)
        )
    if linear_columns:
        line = Line(feature_columns=linear_columns, sparse_combiner=linear_sparse_combiner, is_combined=True)
        rate = min(_LINEAR_LEARNING_RATE, 1.0 / math.sqrt(len(linear_columns)))
        parts.append(dataclasses.replace(linear_part(line, linear_optimizer, rate), is_outside=True))
    return parts


class DNNLinearCombinedClassifier(Estimator):
    """A linear model and a deep network that classify together, as `tf.estimator.DNNLinearCombinedClassifier`.

    Args:
        model_dir: Where checkpoints are.
        linear_feature_columns: Dense and categorical columns of the linear model.
        linear_optimizer: A name (`"Adagrad"`, `"Adam"`, `"Ftrl"`, `"RMSProp"`, `"SGD"`, with a learning rate of 0.005
            at most), an optimizer, or a function without arguments that makes one in each trace of the model.
        dnn_feature_columns: Dense columns of the network.
        dnn_optimizer: Likewise, with a learning rate of 0.001.
        dnn_hidden_units: The sizes of hidden layers.
        dnn_activation_fn: The activation of hidden layers.
        dnn_dropout: The chance by which a hidden layer's value is dropped in training.
        n_classes: The number of classes, at least 2.
        weight_column: The feature of the examples' weights, or a numeric column.
        label_vocabulary: The classes' names; None where labels are numbers.
        config: How it runs.
        warm_start_from: What the first values of variables are taken from.
        loss_reduction: How the examples' losses become one number.
        batch_norm: Whether hidden layers are normalized.
        linear_sparse_combiner: How the weights of several ids become one: `"sum"`, `"mean"` or `"sqrtn"`.

    Raises:
        BadArgumentError: If an argument can't be.
    """

    _is_first = False

    def __init__(
        self,
        model_dir: str | None = None,
        linear_feature_columns: Iterable[Any] | None = None,
        linear_optimizer: object = "Ftrl",
        dnn_feature_columns: Iterable[Any] | None = None,
        dnn_optimizer: object = "Adagrad",
        dnn_hidden_units: Iterable[int] | None = None,
        dnn_activation_fn: Callable[[Any], Any] = nn.relu,
        dnn_dropout: float | None = None,
        n_classes: int = 2,
        weight_column: object = None,
        label_vocabulary: Sequence[str] | None = None,
        config: RunConfig | None = None,
        warm_start_from: object = None,
        loss_reduction: str = "sum_over_batch_size",
        batch_norm: bool = False,
        linear_sparse_combiner: str = "sum",
    ) -> None:
        parts = make_combined_parts(
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
        head = classifier_head(
            n_classes, weight_column, label_vocabulary, loss_reduction, is_first=self._is_first
        )
        Estimator.__init__(
            self,
            model_fn_of(head, parts, is_first=self._is_first),
            model_dir,
            config,
            warm_start_from=warm_start_from,
        )


class DNNLinearCombinedRegressor(Estimator):
    """A linear model and a deep network that predict numbers, as `tf.estimator.DNNLinearCombinedRegressor`.

    Args:
        model_dir: Where checkpoints are.
        linear_feature_columns: Dense and categorical columns of the linear model.
        linear_optimizer: As of :class:`DNNLinearCombinedClassifier`.
        dnn_feature_columns: Dense columns of the network.
        dnn_optimizer: As of :class:`DNNLinearCombinedClassifier`.
        dnn_hidden_units: The sizes of hidden layers.
        dnn_activation_fn: The activation of hidden layers.
        dnn_dropout: The chance by which a hidden layer's value is dropped in training.
        label_dimension: How many numbers an example has.
        weight_column: The feature of weights, or a numeric column.
        config: How it runs.
        warm_start_from: What the first values of variables are taken from.
        loss_reduction: How the losses become one number.
        batch_norm: Whether hidden layers are normalized.
        linear_sparse_combiner: How the weights of several ids become one: `"sum"`, `"mean"` or `"sqrtn"`.

    Raises:
        BadArgumentError: If an argument can't be.
    """

    _is_first = False

    def __init__(
        self,
        model_dir: str | None = None,
        linear_feature_columns: Iterable[Any] | None = None,
        linear_optimizer: object = "Ftrl",
        dnn_feature_columns: Iterable[Any] | None = None,
        dnn_optimizer: object = "Adagrad",
        dnn_hidden_units: Iterable[int] | None = None,
        dnn_activation_fn: Callable[[Any], Any] = nn.relu,
        dnn_dropout: float | None = None,
        label_dimension: int = 1,
        weight_column: object = None,
        config: RunConfig | None = None,
        warm_start_from: object = None,
        loss_reduction: str = "sum_over_batch_size",
        batch_norm: bool = False,
        linear_sparse_combiner: str = "sum",
    ) -> None:
        parts = make_combined_parts(
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
        head = regressor_head(label_dimension, weight_column, loss_reduction, is_first=self._is_first)
        Estimator.__init__(
            self,
            model_fn_of(head, parts, is_first=self._is_first),
            model_dir,
            config,
            warm_start_from=warm_start_from,
        )


class DNNLinearCombinedEstimator(Estimator):
    """A linear model and a deep network with a head of your own, as `tf.estimator.DNNLinearCombinedEstimator`.

    Args:
        head: The head.
        model_dir: Where checkpoints are.
        linear_feature_columns: Dense and categorical columns of the linear model.
        linear_optimizer: As of :class:`DNNLinearCombinedClassifier`.
        dnn_feature_columns: Dense columns of the network.
        dnn_optimizer: As of :class:`DNNLinearCombinedClassifier`.
        dnn_hidden_units: The sizes of hidden layers.
        dnn_activation_fn: The activation of hidden layers.
        dnn_dropout: The chance by which a hidden layer's value is dropped in training.
        config: How it runs.
        batch_norm: Whether hidden layers are normalized.
        linear_sparse_combiner: How the weights of several ids become one: `"sum"`, `"mean"` or `"sqrtn"`.

    Raises:
        BadArgumentError: If an argument can't be.
        BadTypeError: If `head` is none.
    """

    _is_first = False

    def __init__(
        self,
        head: Head,
        model_dir: str | None = None,
        linear_feature_columns: Iterable[Any] | None = None,
        linear_optimizer: object = "Ftrl",
        dnn_feature_columns: Iterable[Any] | None = None,
        dnn_optimizer: object = "Adagrad",
        dnn_hidden_units: Iterable[int] | None = None,
        dnn_activation_fn: Callable[[Any], Any] = nn.relu,
        dnn_dropout: float | None = None,
        config: RunConfig | None = None,
        batch_norm: bool = False,
        linear_sparse_combiner: str = "sum",
    ) -> None:
        parts = make_combined_parts(
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
        model_fn = model_fn_of(head, parts, is_first=self._is_first)
        Estimator.__init__(self, model_fn, model_dir, config)
