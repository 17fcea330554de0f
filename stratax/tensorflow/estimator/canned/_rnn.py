"""Recurrent networks as estimators (estimator layer)."""

import dataclasses
import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import jax.numpy as jnp
import keras

from stratax import errors
from stratax.base.shown import shown
from stratax.tensorflow import feature_column, v1
from stratax.tensorflow.estimator._estimator import Estimator
from stratax.tensorflow.estimator._mode_keys import ModeKeys
from stratax.tensorflow.estimator._run_config import RunConfig
from stratax.tensorflow.estimator._spec import EstimatorSpec
from stratax.tensorflow.estimator.canned import _optimizers
from stratax.tensorflow.estimator.canned._parts import check_columns, check_features
from stratax.tensorflow.estimator.heads import Head, SequentialHead, classifier_head, minimize
from stratax.tensorflow.ops.calls.creation import on_device
from stratax.tensorflow.ops.math import linalg

# Of optimizers that are named, as in TensorFlow.
_LEARNING_RATE = 0.05
_CLIP_NORM = 5.0
# What stands for an argument that was not given: `units` needs its cells' kind, `rnn_cell_fn` goes without both.
USE_DEFAULT = object()
_LAYERS = {"simple_rnn": keras.layers.SimpleRNN, "lstm": keras.layers.LSTM, "gru": keras.layers.GRU}
_CELLS = {
    "simple_rnn": keras.layers.SimpleRNNCell,
    "lstm": keras.layers.LSTMCell,
    "gru": keras.layers.GRUCell,
}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Recurrence:
    """A recurrent network on columns of sequences.

    Attributes:
        sequence_columns: Columns of sequences.
        context_columns: Dense columns, whose values every step gets; empty for none.
        units: The sizes of the layers, or of one layer.
        cell_type: `"simple_rnn"`, `"lstm"`, `"gru"`, or a class of cells.
        rnn_cell_fn: A function that makes a cell, or a list of them, in the place of `units` and `cell_type`.
        return_sequences: Whether there are logits for each step, or for the last one.
    """

    sequence_columns: Sequence[Any]
    context_columns: Sequence[Any]
    units: Any
    cell_type: Any
    rnn_cell_fn: Callable[[], Any] | None
    return_sequences: bool

    def __post_init__(self) -> None:
        if self.rnn_cell_fn is not None and (self.units or self.cell_type is not USE_DEFAULT):
            raise errors.BadArgumentError(
                "units and cell_type must not be specified when using rnn_cell_fn. Received: "
                f"units={shown(self.units)}. Leave out one of them."
            )
        if self.rnn_cell_fn is None and not self.units:
            raise errors.BadArgumentError(
                "A recurrent network needs the sizes of its layers. Expected: units, such as [32, 16], or rnn_cell_fn. "
                f"Received: units={shown(self.units)}."
            )

    def logits(self, features: object, mode: str, units: int) -> tuple[Any, Any]:
        """Return so many logits, and which steps are there: bool, of shape `(batch, steps)`."""
        given, is_training = check_features(features), mode == ModeKeys.TRAIN
        steps, lengths = feature_column.SequenceFeatures(self.sequence_columns)(given)
        v1.summary.histogram("sequence_length", jnp.array(lengths, copy=True))
        if self.context_columns:
            context = feature_column.DenseFeatures(self.context_columns)(given)
            repeated = jnp.broadcast_to(context[:, None], (*steps.shape[:2], context.shape[-1]))
            steps = jnp.concatenate([steps, repeated], -1)
        mask = jnp.arange(steps.shape[1]) < on_device(lengths)[:, None]
        with keras.name_scope("rnn_model"):
            outputs = self._layer()(steps, mask=mask, training=is_training)
            return keras.layers.Dense(units, name="logits")(outputs), mask

    def _layer(self) -> Any:
        """Return a new layer of the network."""
        if isinstance(self.units, int) and self.cell_type in _LAYERS:
            return _LAYERS[self.cell_type](self.units, return_sequences=self.return_sequences)
        return keras.layers.RNN(self._cells(), return_sequences=self.return_sequences)

    def _cells(self) -> Any:
        if self.rnn_cell_fn is not None:
            return self.rnn_cell_fn()
        kind = "simple_rnn" if self.cell_type is USE_DEFAULT else self.cell_type
        make = _CELLS.get(kind, kind) if isinstance(kind, str) else kind
        if not callable(make):
            raise errors.BadArgumentError(
                "cell_type must be a class of cells, or its name. Expected: one of "
                f"{', '.join(sorted(_CELLS))}, or a class with `call` and `state_size`. Received: "
                f"cell_type={shown(self.cell_type)}."
            )
        sizes = [self.units] if isinstance(self.units, int) else self.units
        cells = [make(size) for size in sizes]
        return cells[0] if len(cells) == 1 else cells


class RNNEstimator(Estimator):
    """A recurrent network with a head of your own, as `tf.estimator.experimental.RNNEstimator`.

    Args:
        head: The head; the logits are those of each example's last step.
        sequence_feature_columns: `sequence_numeric_column`, and embedding or indicator columns of
            `sequence_categorical_column_with_*`. Their features are SparseTensors, one row for each example.
        context_feature_columns: Dense columns, whose values every step gets.
        units: The sizes of the layers.
        cell_type: `"simple_rnn"`, `"lstm"`, `"gru"`, or a class of cells.
        rnn_cell_fn: A function that makes a cell, or a list of them, in the place of `units` and `cell_type`.
        return_sequences: Whether there are logits for each step, which takes a head of sequences.
        model_dir: Where checkpoints are.
        optimizer: As of :class:`DNNClassifier`; one that is named has a learning rate of 0.05, and clips each
            gradient's norm at 5.
        config: How it runs.

    Raises:
        BadArgumentError: If an argument can't be.
        BadTypeError: If `head` is none.

    Example:
        >>> import stratax.estimator as estimator, stratax.feature_column as fc
        >>> columns = [fc.sequence_numeric_column("x")]
        >>> made = estimator.RNNEstimator(estimator.RegressionHead(), columns, units=[8], cell_type="lstm")
    """

    def __init__(
        self,
        head: Head,
        sequence_feature_columns: Iterable[Any],
        context_feature_columns: Iterable[Any] | None = None,
        units: Any = None,
        cell_type: Any = USE_DEFAULT,
        rnn_cell_fn: Callable[[], Any] | None = None,
        return_sequences: bool = False,
        model_dir: str | None = None,
        optimizer: Any = "Adagrad",
        config: RunConfig | None = None,
    ) -> None:
        if not isinstance(head, Head):
            raise errors.BadTypeError(
                f"head must be a head, such as tf.estimator.RegressionHead(). Received: head={shown(head)}."
            )
        if return_sequences and not isinstance(head, SequentialHead):
            raise errors.BadArgumentError(
                "return_sequences=True needs a head of sequences, which RNNClassifier makes of its own. Received: "
                f"head={shown(head)}. Use RNNClassifier(return_sequences=True)."
            )
        _optimizers.check(optimizer)
        network = Recurrence(
            sequence_columns=check_columns("sequence_feature_columns", sequence_feature_columns),
            context_columns=tuple(context_feature_columns or ()),
            units=units if isinstance(units, int) else tuple(units or ()),
            cell_type=cell_type,
            rnn_cell_fn=rnn_cell_fn,
            return_sequences=return_sequences,
        )

        def model_fn(features: Any, labels: Any, mode: str) -> EstimatorSpec:
            logits, mask = network.logits(features, mode, head.logits_dimension)
            if isinstance(head, SequentialHead) and head.mask not in features:
                features = {**features, head.mask: mask}
            trained = functools.partial(_train_op, optimizer)
            return head.create_estimator_spec(features, mode, logits, labels=labels, train_op_fn=trained)

        super().__init__(model_fn, model_dir, config)


class RNNClassifier(RNNEstimator):
    """A recurrent network that classifies sequences, or their steps, as `tf.estimator.experimental.RNNClassifier`.

    Args:
        sequence_feature_columns: As of :class:`RNNEstimator`.
        context_feature_columns: Dense columns, whose values every step gets.
        units: The sizes of the layers.
        cell_type: `"simple_rnn"`, `"lstm"`, `"gru"`, or a class of cells.
        rnn_cell_fn: A function that makes a cell, or a list of them, in the place of `units` and `cell_type`.
        return_sequences: Whether each step has a label of its own: labels are SparseTensors or arrays of shape
            `(batch, steps)`, and steps behind an example's end count nowhere.
        model_dir: Where checkpoints are.
        n_classes: The number of classes, at least 2.
        weight_column: The feature of weights, or a numeric column; with `return_sequences` a name.
        label_vocabulary: The classes' names; None where labels are numbers.
        optimizer: As of :class:`RNNEstimator`.
        loss_reduction: How the losses become one number.
        sequence_mask: The feature, and the prediction, that says which steps are there.
        config: How it runs.

    Raises:
        BadArgumentError: If an argument can't be.
        BadTypeError: With `return_sequences`, if `weight_column` is no name.
    """

    def __init__(
        self,
        sequence_feature_columns: Iterable[Any],
        context_feature_columns: Iterable[Any] | None = None,
        units: object = None,
        cell_type: object = USE_DEFAULT,
        rnn_cell_fn: Callable[[], Any] | None = None,
        return_sequences: bool = False,
        model_dir: str | None = None,
        n_classes: int = 2,
        weight_column: Any = None,
        label_vocabulary: Sequence[str] | None = None,
        optimizer: object = "Adagrad",
        loss_reduction: str = "sum_over_batch_size",
        sequence_mask: str = "sequence_mask",
        config: RunConfig | None = None,
    ) -> None:
        head = classifier_head(n_classes, weight_column, label_vocabulary, loss_reduction, is_first=False)
        if return_sequences:
            head = SequentialHead(head, sequence_mask, () if weight_column is None else (weight_column,))
        super().__init__(
            head,
            sequence_feature_columns,
            context_feature_columns,
            units,
            cell_type,
            rnn_cell_fn,
            return_sequences,
            model_dir,
            optimizer,
            config,
        )


def _train_op(optimizer: object, loss: object) -> Any:
    """Return the operation of a step; an optimizer that is named clips the norm of each gradient."""
    made, slot_path = _optimizers.make(optimizer, _LEARNING_RATE, None, is_first=False)
    with _optimizers.naming_slots(slot_path):
        if not isinstance(optimizer, str):
            return minimize(made, loss)
        pairs = [
            (linalg.clip_by_norm(gradient, _CLIP_NORM), variable)
            for gradient, variable in made.compute_gradients(loss)
            if gradient is not None
        ]
        return made.apply_gradients(pairs, global_step=v1.current().global_step())
