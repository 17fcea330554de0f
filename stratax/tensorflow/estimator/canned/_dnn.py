"""Deep networks as estimators (estimator layer)."""

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from stratax import errors
from stratax.base.shown import shown
from stratax.tensorflow import feature_column, v1
from stratax.tensorflow.estimator._estimator import Estimator
from stratax.tensorflow.estimator._mode_keys import ModeKeys
from stratax.tensorflow.estimator._run_config import RunConfig
from stratax.tensorflow.estimator.canned._parts import (
    ModelFunction,
    ModelPart,
    check_columns,
    check_features,
    model_fn_of,
    write_activity,
)
from stratax.tensorflow.estimator.heads import Head, classifier_head, regressor_head
from stratax.tensorflow.ops.nn import nn

NAME = "dnn"
# As in TensorFlow, whose default did not suit every model.
_BATCH_NORM_MOMENTUM = 0.999
# Of TensorFlow 1: the learning rate of an optimizer that is named, and what names slots of variables that it could
# divide among parameter servers.
_FIRST_LEARNING_RATE = 0.05
_FIRST_SLOT_INFIX = "t_0"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class DenseNetwork:
    """A network of dense layers on feature columns.

    Attributes:
        hidden_units: The sizes of hidden layers.
        feature_columns: The columns.
        activation_fn: The activation of hidden layers.
        dropout: The chance by which a hidden layer's value is dropped in training; None for none.
        batch_norm: Whether hidden layers are normalized.
    """

    hidden_units: Sequence[int]
    feature_columns: Sequence[Any]
    activation_fn: Any
    dropout: float | None
    batch_norm: bool

    def __post_init__(self) -> None:
        columns = check_columns("feature_columns", self.feature_columns)
        object.__setattr__(self, "feature_columns", columns)
        units = self.hidden_units
        if units is None or not all(isinstance(each, int) and each > 0 for each in units):
            raise errors.BadArgumentError(
                f"hidden_units must be the sizes of layers, such as [128, 64]. Received: hidden_units={shown(units)}."
            )
        object.__setattr__(self, "hidden_units", tuple(units))
        if self.dropout is not None and not 0 <= self.dropout < 1:
            raise errors.BadArgumentError(
                f"dropout must be from 0 to below 1. Received: dropout={shown(self.dropout)}."
            )

    def logits(self, features: object, mode: str, units: int) -> Any:
        """Return so many logits, computed in the variable scope that is entered."""
        is_training = mode == ModeKeys.TRAIN
        glorot = v1.glorot_uniform_initializer()
        with v1.variable_scope("input_from_feature_columns"):
            net = feature_column.input_layer(check_features(features), self.feature_columns)
        for number, size in enumerate(self.hidden_units):
            name = f"hiddenlayer_{number}"
            net = v1.layers.dense(
                net, size, activation=self.activation_fn, kernel_initializer=glorot, name=name
            )
            if self.dropout is not None and is_training:
                net = v1.layers.dropout(net, self.dropout, training=True)
            if self.batch_norm:
                net = v1.layers.batch_normalization(
                    net,
                    momentum=_BATCH_NORM_MOMENTUM,
                    training=is_training,
                    name=f"{name}/batchnorm_{number}",
                )
            write_activity(net, f"{NAME}/{name}")
        logits = v1.layers.dense(net, units, kernel_initializer=glorot, name="logits")
        write_activity(logits, f"{NAME}/logits")
        return logits


def dnn_part(
    network: DenseNetwork, optimizer: object, learning_rate: float | None, slot_infix: str | None = None
) -> ModelPart:
    """Return a network as a part of a model."""
    return ModelPart(
        name=NAME,
        logits=network.logits,
        optimizer=optimizer,
        learning_rate=learning_rate,
        slot_infix=slot_infix,
    )


class DNNClassifier(Estimator):
    """A deep network that classifies, as `tf.estimator.DNNClassifier`.

    Args:
        hidden_units: The sizes of hidden layers.
        feature_columns: Dense columns of `tf.feature_column`.
        model_dir: Where checkpoints are.
        n_classes: The number of classes, at least 2.
        weight_column: The feature of the examples' weights, or a numeric column.
        label_vocabulary: The classes' names; None where labels are numbers.
        optimizer: A name (`"Adagrad"`, `"Adam"`, `"Ftrl"`, `"RMSProp"`, with a learning rate of 0.001, or `"SGD"`, with
            0.01), an optimizer, or a function without arguments that makes one in each trace of the model.
        activation_fn: The activation of hidden layers.
        dropout: The chance by which a hidden layer's value is dropped in training.
        config: How it runs.
        warm_start_from: What the first values of variables are taken from.
        loss_reduction: How the examples' losses become one number.
        batch_norm: Whether hidden layers are normalized.

    Raises:
        BadArgumentError: If an argument can't be.

    Example:
        >>> import stratax.estimator as estimator, stratax.feature_column as fc
        >>> made = estimator.DNNClassifier([8], [fc.numeric_column("x")], n_classes=3)
    """

    _is_first = False

    def __init__(
        self,
        hidden_units: Iterable[int],
        feature_columns: Iterable[Any],
        model_dir: str | None = None,
        n_classes: int = 2,
        weight_column: object = None,
        label_vocabulary: Sequence[str] | None = None,
        optimizer: object = "Adagrad",
        activation_fn: Callable[[Any], Any] = nn.relu,
        dropout: float | None = None,
        config: RunConfig | None = None,
        warm_start_from: object = None,
        loss_reduction: str = "sum_over_batch_size",
        batch_norm: bool = False,
    ) -> None:
        network = _make_network(hidden_units, feature_columns, activation_fn, dropout, batch_norm)
        head = classifier_head(
            n_classes, weight_column, label_vocabulary, loss_reduction, is_first=self._is_first
        )
        model_fn = _model_fn_of(head, network, optimizer, is_first=self._is_first)
        Estimator.__init__(self, model_fn, model_dir, config, warm_start_from=warm_start_from)


class DNNRegressor(Estimator):
    """A deep network that predicts numbers, as `tf.estimator.DNNRegressor`.

    Args:
        hidden_units: The sizes of hidden layers.
        feature_columns: Dense columns of `tf.feature_column`.
        model_dir: Where checkpoints are.
        label_dimension: How many numbers an example has.
        weight_column: The feature of weights, or a numeric column.
        optimizer: As of :class:`DNNClassifier`.
        activation_fn: The activation of hidden layers.
        dropout: The chance by which a hidden layer's value is dropped in training.
        config: How it runs.
        warm_start_from: What the first values of variables are taken from.
        loss_reduction: How the losses become one number.
        batch_norm: Whether hidden layers are normalized.

    Raises:
        BadArgumentError: If an argument can't be.
    """

    _is_first = False

    def __init__(
        self,
        hidden_units: Iterable[int],
        feature_columns: Iterable[Any],
        model_dir: str | None = None,
        label_dimension: int = 1,
        weight_column: object = None,
        optimizer: object = "Adagrad",
        activation_fn: Callable[[Any], Any] = nn.relu,
        dropout: float | None = None,
        config: RunConfig | None = None,
        warm_start_from: object = None,
        loss_reduction: str = "sum_over_batch_size",
        batch_norm: bool = False,
    ) -> None:
        network = _make_network(hidden_units, feature_columns, activation_fn, dropout, batch_norm)
        head = regressor_head(label_dimension, weight_column, loss_reduction, is_first=self._is_first)
        model_fn = _model_fn_of(head, network, optimizer, is_first=self._is_first)
        Estimator.__init__(self, model_fn, model_dir, config, warm_start_from=warm_start_from)


class DNNEstimator(Estimator):
    """A deep network with a head of your own, as `tf.estimator.DNNEstimator`.

    Args:
        head: The head.
        hidden_units: The sizes of hidden layers.
        feature_columns: Dense columns of `tf.feature_column`.
        model_dir: Where checkpoints are.
        optimizer: As of :class:`DNNClassifier`.
        activation_fn: The activation of hidden layers.
        dropout: The chance by which a hidden layer's value is dropped in training.
        config: How it runs.
        warm_start_from: What the first values of variables are taken from.
        batch_norm: Whether hidden layers are normalized.

    Raises:
        BadArgumentError: If an argument can't be.
        BadTypeError: If `head` is none.
    """

    _is_first = False

    def __init__(
        self,
        head: Head,
        hidden_units: Iterable[int],
        feature_columns: Iterable[Any],
        model_dir: str | None = None,
        optimizer: object = "Adagrad",
        activation_fn: Callable[[Any], Any] = nn.relu,
        dropout: float | None = None,
        config: RunConfig | None = None,
        warm_start_from: object = None,
        batch_norm: bool = False,
    ) -> None:
        network = _make_network(hidden_units, feature_columns, activation_fn, dropout, batch_norm)
        model_fn = _model_fn_of(head, network, optimizer, is_first=self._is_first)
        Estimator.__init__(self, model_fn, model_dir, config, warm_start_from=warm_start_from)


def _make_network(
    hidden_units: Any, feature_columns: Any, activation_fn: Any, dropout: float | None, batch_norm: bool
) -> DenseNetwork:
    return DenseNetwork(
        hidden_units=hidden_units,
        feature_columns=feature_columns,
        activation_fn=activation_fn,
        dropout=dropout,
        batch_norm=batch_norm,
    )


def _model_fn_of(head: Head, network: DenseNetwork, optimizer: object, *, is_first: bool) -> ModelFunction:
    how = (_FIRST_LEARNING_RATE, _FIRST_SLOT_INFIX) if is_first else (None,)
    return model_fn_of(head, [dnn_part(network, optimizer, *how)], is_first=is_first)
