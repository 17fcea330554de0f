"""Deep networks as TensorFlow 1's estimators (estimator layer)."""

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from stratax.tensorflow import v1
from stratax.tensorflow.estimator._estimator import Estimator
from stratax.tensorflow.estimator._run_config import RunConfig
from stratax.tensorflow.estimator.canned._dnn import dnn_part, make_network
from stratax.tensorflow.estimator.canned._parts import Part, model_fn_of
from stratax.tensorflow.estimator.heads import Head, classifier_head, regressor_head
from stratax.tensorflow.ops.nn import nn

# The learning rate of an optimizer that is named.
_LEARNING_RATE = 0.05
# As TensorFlow 2.15 names slots of variables that it could divide among parameter servers.
_SLOT_INFIX = "t_0"

_model_fn = functools.partial(model_fn_of, is_first=True)


class DNNClassifier(Estimator):
    """A deep network that classifies, as `tf.compat.v1.estimator.DNNClassifier`.

    Args:
        hidden_units: The sizes of hidden layers.
        feature_columns: Dense columns of `tf.feature_column`.
        model_dir: Where checkpoints are.
        n_classes: The number of classes, at least 2.
        weight_column: The feature of weights, or a numeric column.
        label_vocabulary: The classes' names; None where labels are numbers.
        optimizer: A name (`"Adagrad"`, `"Adam"`, `"Ftrl"`, `"RMSProp"`, `"SGD"`, with a learning rate of 0.05),
            an optimizer, or a function without arguments that makes one in each trace of the model.
        activation_fn: The activation of hidden layers.
        dropout: The chance by which a hidden layer's value is dropped in training.
        input_layer_partitioner: Ignored: a strategy places variables.
        config: How it runs.
        warm_start_from: What the first values of variables are taken from.
        loss_reduction: How the examples' losses become one number.
        batch_norm: Whether hidden layers are normalized.

    Raises:
        BadArgumentError: If an argument can't be.
    """

    def __init__(
        self,
        hidden_units: Iterable[int],
        feature_columns: Iterable[Any],
        model_dir: str | None = None,
        n_classes: int = 2,
        weight_column: Any = None,
        label_vocabulary: Sequence[str] | None = None,
        optimizer: Any = "Adagrad",
        activation_fn: Callable[[Any], Any] = nn.relu,
        dropout: float | None = None,
        input_layer_partitioner: Any = None,
        config: RunConfig | None = None,
        warm_start_from: Any = None,
        loss_reduction: str = v1.losses.Reduction.SUM,
        batch_norm: bool = False,
    ) -> None:
        del input_layer_partitioner
        part = _part(hidden_units, feature_columns, optimizer, activation_fn, dropout, batch_norm)
        head = classifier_head(n_classes, weight_column, label_vocabulary, loss_reduction, is_first=True)
        super().__init__(_model_fn(head, [part]), model_dir, config, warm_start_from=warm_start_from)


class DNNRegressor(Estimator):
    """A deep network that predicts numbers, as `tf.compat.v1.estimator.DNNRegressor`.

    Args:
        hidden_units: The sizes of hidden layers.
        feature_columns: Dense columns of `tf.feature_column`.
        model_dir: Where checkpoints are.
        label_dimension: How many numbers an example has.
        weight_column: The feature of weights, or a numeric column.
        optimizer: A name (`"Adagrad"`, `"Adam"`, `"Ftrl"`, `"RMSProp"`, `"SGD"`, with a learning rate of 0.05),
            an optimizer, or a function without arguments that makes one in each trace of the model.
        activation_fn: The activation of hidden layers.
        dropout: The chance by which a hidden layer's value is dropped in training.
        input_layer_partitioner: Ignored: a strategy places variables.
        config: How it runs.
        warm_start_from: What the first values of variables are taken from.
        loss_reduction: How the examples' losses become one number.
        batch_norm: Whether hidden layers are normalized.

    Raises:
        BadArgumentError: If an argument can't be.
    """

    def __init__(
        self,
        hidden_units: Iterable[int],
        feature_columns: Iterable[Any],
        model_dir: str | None = None,
        label_dimension: int = 1,
        weight_column: Any = None,
        optimizer: Any = "Adagrad",
        activation_fn: Callable[[Any], Any] = nn.relu,
        dropout: float | None = None,
        input_layer_partitioner: Any = None,
        config: RunConfig | None = None,
        warm_start_from: Any = None,
        loss_reduction: str = v1.losses.Reduction.SUM,
        batch_norm: bool = False,
    ) -> None:
        del input_layer_partitioner
        part = _part(hidden_units, feature_columns, optimizer, activation_fn, dropout, batch_norm)
        head = regressor_head(label_dimension, weight_column, loss_reduction, is_first=True)
        super().__init__(_model_fn(head, [part]), model_dir, config, warm_start_from=warm_start_from)


class DNNEstimator(Estimator):
    """A deep network with a head of your own, as `tf.compat.v1.estimator.DNNEstimator`.

    Args:
        head: The head, of those that functions of `tf.contrib.estimator` give or of `tf.estimator`'s.
        hidden_units: The sizes of hidden layers.
        feature_columns: Dense columns of `tf.feature_column`.
        model_dir: Where checkpoints are.
        optimizer: A name (`"Adagrad"`, `"Adam"`, `"Ftrl"`, `"RMSProp"`, `"SGD"`, with a learning rate of 0.05),
            an optimizer, or a function without arguments that makes one in each trace of the model.
        activation_fn: The activation of hidden layers.
        dropout: The chance by which a hidden layer's value is dropped in training.
        input_layer_partitioner: Ignored: a strategy places variables.
        config: How it runs.
        warm_start_from: What the first values of variables are taken from.
        batch_norm: Whether hidden layers are normalized.

    Raises:
        BadArgumentError: If an argument can't be.
        BadTypeError: If `head` is none.
    """

    def __init__(
        self,
        head: Head,
        hidden_units: Iterable[int],
        feature_columns: Iterable[Any],
        model_dir: str | None = None,
        optimizer: Any = "Adagrad",
        activation_fn: Callable[[Any], Any] = nn.relu,
        dropout: float | None = None,
        input_layer_partitioner: Any = None,
        config: RunConfig | None = None,
        warm_start_from: Any = None,
        batch_norm: bool = False,
    ) -> None:
        del input_layer_partitioner
        part = _part(hidden_units, feature_columns, optimizer, activation_fn, dropout, batch_norm)
        super().__init__(_model_fn(head, [part]), model_dir, config, warm_start_from=warm_start_from)


def _part(
    hidden_units: Any,
    feature_columns: Any,
    optimizer: Any,
    activation_fn: Any,
    dropout: float | None,
    batch_norm: bool,
) -> Part:
    network = make_network(hidden_units, feature_columns, activation_fn, dropout, batch_norm)
    return dnn_part(network, optimizer, _LEARNING_RATE, _SLOT_INFIX)
