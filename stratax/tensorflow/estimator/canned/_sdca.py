"""`LinearSDCA`: linear models that stochastic dual coordinate ascent trains (estimator layer)."""

import functools
import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import jax.numpy as jnp
import numpy as np

from stratax import errors
from stratax.base.shown import shown
from stratax.core.host import check
from stratax.distribute.replicas import syncing_replicas
from stratax.tensorflow import feature_column, v1
from stratax.tensorflow.estimator._spec import EstimatorSpec
from stratax.tensorflow.estimator.canned._dual_ascent import (
    LOGISTIC,
    SQUARED,
    Ascent,
    FeatureGroup,
    Loss,
    find,
)
from stratax.tensorflow.estimator.heads import (
    BinaryClassHead,
    Head,
    LogisticRegressionHead,
    PoissonRegressionHead,
    RegressionHead,
)
from stratax.tensorflow.ops.calls.creation import on_device
from stratax.tensorflow.ops.random import random
from stratax.tensorflow.ops.text.fingerprints import Fingerprints

# For how many examples each of `num_table_shards` has room, with their fingerprints and what is known of them.
_ROWS = 2**20
# What is known of an example, as TensorFlow has it: its dual variable, its losses, and its weight.
_KNOWN = 4
_NAMES_OF_TABLE = ("sdca_examples", "sdca_state", "sdca_sums")


class LinearPart(Protocol):
    """A linear model that SDCA trains."""

    @property
    def sparse_combiner(self) -> str:
        """How the weights of several ids become one."""

    def logits_and_variables(self, features: object, units: int) -> tuple[Any, dict[Any, Any]]:
        """Return so many logits, and the variable of each column, and of the bias under `"bias"`."""


class LinearSDCA:
    """Trains linear models by stochastic dual coordinate ascent, as `tf.estimator.experimental.LinearSDCA`.

    It is the `optimizer` of a `LinearClassifier` of two classes or a `LinearRegressor` of one number, and needs no
    learning rate: a model converges to the least sum of the examples' losses and the regularization. What it keeps of
    each example is part of the model's checkpoints. Examples of a batch are taken one after the other, in an order that
    is drawn. It trains on one replica.

    Adaptive sampling draws an order of all examples, in which those come first of which more is to be learned;
    TensorFlow takes some several times and others not.

    Args:
        example_id_column: The feature with the examples' names: strings, of shape `(batch,)`.
        num_loss_partitions: How many workers learn at once; more make smaller steps.
        num_table_shards: How many parts the table of examples has; each has room for 1,048,576 of them. None for one.
        symmetric_l1_regularization: The factor of the sum of the weights' absolute values, 0 or more.
        symmetric_l2_regularization: The factor of half the sum of their squares, above 0.
        adaptive: Whether to sample adaptively.

    Raises:
        BadArgumentError: If a number can't be.

    Example:
        >>> import stratax.estimator as estimator, stratax.feature_column as fc
        >>> optimizer = estimator.LinearSDCA("id", symmetric_l2_regularization=2.0)
        >>> made = estimator.LinearRegressor([fc.numeric_column("x")], optimizer=optimizer)
    """

    def __init__(
        self,
        example_id_column: str,
        num_loss_partitions: int = 1,
        num_table_shards: int | None = None,
        symmetric_l1_regularization: float = 0.0,
        symmetric_l2_regularization: float = 1.0,
        adaptive: bool = False,
    ) -> None:
        _check("symmetric_l1_regularization", symmetric_l1_regularization, "0 or more", lambda it: it >= 0)
        _check("symmetric_l2_regularization", symmetric_l2_regularization, "above 0", lambda it: it > 0)
        _check("num_loss_partitions", num_loss_partitions, "1 or more", lambda it: it >= 1)
        _check("num_table_shards", num_table_shards or 1, "1 or more", lambda it: it >= 1)
        self._example_id_column = example_id_column
        self._rows = _ROWS * int(num_table_shards or 1)
        self._ascent = functools.partial(
            Ascent,
            l1=float(symmetric_l1_regularization),
            l2=float(symmetric_l2_regularization),
            partitions=int(num_loss_partitions),
            is_adaptive=bool(adaptive),
        )

    def _train_op(
        self,
        loss: Loss,
        features: Mapping[str, Any],
        labels: Any,
        importance: Any,
        columns: Mapping[Any, Any],
        slot_name: Callable[[str], str],
    ) -> v1.Operation:
        """Return the operation that learns a batch.

        Args:
            loss: The loss of an example.
            features: The features.
            labels: The labels.
            importance: The examples' weights, of their shape or 1.0.
            columns: The variables of feature columns, and of the bias under `"bias"`.
            slot_name: The name of a variable's slot.

        Raises:
            BadArgumentError: There are several replicas, or the labels are no numbers.
            BadTypeError: The names of examples are no strings.
        """
        replicas = syncing_replicas()
        if replicas is not None:
            raise errors.BadArgumentError(
                "LinearSDCA takes one example after the other. Expected: a strategy with one replica. Received: "
                f"{replicas.num_replicas_in_sync} replicas. Leave train_distribute out of the RunConfig."
            )
        ascent = self._ascent(loss=loss)
        labels = loss.label(_numbers(labels).reshape(-1))
        importance = jnp.broadcast_to(jnp.reshape(importance, -1), labels.shape)
        inputs = feature_column.linear_inputs(features, [column for column in columns if column != "bias"])
        groups = [
            *itertools.starmap(FeatureGroup, inputs.values()),
            FeatureGroup(jnp.ones((len(labels), 1), jnp.float32)),
        ]
        variables = [columns[column] for column in (*inputs, "bias")]
        slots = [_slot(variable, slot_name) for variable in variables]
        weights = [slot.value.reshape(-1) for slot in slots]
        return self._learn(ascent, groups, weights, variables, slots, features, labels, importance)

    def _learn(
        self,
        ascent: Ascent,
        groups: Sequence[FeatureGroup],
        weights: Sequence[Any],
        variables: Sequence[Any],
        slots: Sequence[Any],
        features: Mapping[str, Any],
        labels: Any,
        importance: Any,
    ) -> v1.Operation:
        table = _Table(self._rows)
        rows = table.rows_of(_words(features, self._example_id_column))
        known = table.state.value.at[rows].get(mode="fill", fill_value=0.0)
        drawn = random.uniform(labels.shape)
        moved, duals = ascent.pass_over(groups, weights, labels, importance, known[:, 0], drawn)
        state = jnp.stack(
            [
                duals,
                ascent.loss.primal(ascent.predictions(groups, weights), labels) * importance,
                ascent.loss.dual(known[:, 0], labels) * importance,
                importance,
            ],
            1,
        )
        table.write_summaries(ascent, [variable.value for variable in variables])
        new = [value.reshape(slot.shape) for value, slot in zip(moved, slots, strict=True)]
        return v1.group(
            [slot.assign(value) for slot, value in zip(slots, new, strict=True)],
            [variable.assign(ascent.shrink(value)) for variable, value in zip(variables, new, strict=True)],
            table.update(rows, state, state - known),
        )


class _Table:
    """What is known of examples, in the model's variables: a table by open addressing.

    Args:
        rows: How many there may be.
    """

    def __init__(self, rows: int) -> None:
        scope = v1.current()
        examples, state, sums = (f"linear/{name}" for name in _NAMES_OF_TABLE)
        self._rows = rows
        self._with_new: Any = None
        self._num_new: Any = None
        self._words = scope.make_variable(examples, (rows, 2), "int32")
        self.state = scope.make_variable(state, (rows, _KNOWN))
        # Of the columns of the table, which are long: the losses and weights of all examples, and how many these are.
        self._sums = scope.make_variable(sums, (_KNOWN,))

    def rows_of(self, words: object) -> Any:
        """Return the rows of examples, some of which may be new."""
        self._with_new, rows, are_new = find(self._words.value, words)
        self._num_new = jnp.sum(are_new.astype(jnp.float32))
        check(
            jnp.all(rows < self._rows),
            [],
            lambda: (
                "LinearSDCA's table of examples is full. Expected: at most "
                f"num_table_shards * {_ROWS:,} examples. Received: more than {self._rows:,}. Pass a larger "
                "num_table_shards, and begin with a new model_dir."
            ),
        )
        return rows

    def update(self, rows: object, state: object, change: Any) -> list[Any]:
        """Return the operations that write down what is known of examples now."""
        return [
            self._words.assign(self._with_new),
            self.state.assign(self.state.value.at[rows].set(state, mode="drop")),
            self._sums.assign(self._sums.value + jnp.sum(change, 0).at[0].set(self._num_new)),
        ]

    def write_summaries(self, ascent: Ascent, weights: Sequence[Any]) -> None:
        """Write how far the model is from its optimum at most, and how many examples it knows."""
        count, primal, dual, importance = self._sums.value
        squares = ascent.l2 * sum(jnp.sum(jnp.square(each)) for each in weights)
        absolutes = ascent.l1 * sum(jnp.sum(jnp.abs(each)) for each in weights)
        v1.summary.scalar("approximate_duality_gap", (primal + dual + absolutes + squares) / importance)
        v1.summary.scalar("examples_seen", count)


def sdca_model_fn(
    head: Head, line: LinearPart, optimizer: LinearSDCA, name: str, slot_infix: str | None
) -> Callable[..., EstimatorSpec]:
    """Return the `model_fn` of a linear model that SDCA trains.

    Args:
        head: The head.
        line: The linear model.
        optimizer: What trains it.
        name: The variable scope of the model.
        slot_infix: What stands between a variable's and a slot's name where it is one of TensorFlow 1.

    Raises:
        BadArgumentError: If the head or the model is none for SDCA.
    """
    if line.sparse_combiner != "sum":
        raise errors.BadArgumentError(
            "LinearSDCA adds up the weights of an example's ids. Expected: sparse_combiner='sum'. Received: "
            f"sparse_combiner={shown(line.sparse_combiner)}."
        )
    fitting, loss = _fitting(head)

    def slot_name(path: str) -> str:
        return f"{name}/{path}/{slot_infix}_unshrunk" if slot_infix else f"{path}_unshrunk"

    def model_fn(features: Any, labels: Any, mode: str, config: object) -> EstimatorSpec:
        del config
        with v1.variable_scope(name):
            logits, columns = line.logits_and_variables(features, head.logits_dimension)

        def train_op(_: object) -> v1.Operation:
            importance = fitting.weights(features, logits)
            learned = optimizer._train_op(loss, features, labels, importance, columns, slot_name)
            return v1.group(learned, v1.current().global_step().assign_add(1))

        return head.create_estimator_spec(features, mode, logits=logits, labels=labels, train_op_fn=train_op)

    return model_fn


def _fitting(head: Head) -> tuple[BinaryClassHead | RegressionHead, Loss]:
    """Return the head, if it is one for SDCA, and its loss."""
    if isinstance(head, BinaryClassHead):
        return head, LOGISTIC
    if isinstance(head, RegressionHead) and not isinstance(
        head, LogisticRegressionHead | PoissonRegressionHead
    ):
        if head.logits_dimension == 1:
            return head, SQUARED
        raise errors.BadArgumentError(
            "LinearSDCA predicts one number. Expected: label_dimension=1. Received: "
            f"{head.logits_dimension}. Use another optimizer, as optimizer='Ftrl'."
        )
    raise errors.BadArgumentError(
        "LinearSDCA trains classifiers of two classes, and regressors. Expected: n_classes=2, or a BinaryClassHead or "
        f"RegressionHead. Received: head={shown(head)}. Use another optimizer, as optimizer='Ftrl'."
    )


def _check(name: str, value: object, wanted: str, fits: Callable[[Any], bool]) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not fits(value):
        raise errors.BadArgumentError(f"{name} must be a number, {wanted}. Received: {name}={shown(value)}.")


def _slot(variable: Any, slot_name: Callable[[str], str]) -> Any:
    return v1.current().make_variable(slot_name(variable.path), tuple(variable.shape))


def _numbers(labels: object) -> Any:
    if isinstance(labels, v1.HostTensor):
        raise errors.BadArgumentError(
            f"LinearSDCA takes labels that are numbers. Received: labels={shown(labels)}. Look them up in the input_fn."
        )
    return on_device(labels).astype(jnp.float32)


def _words(features: Mapping[str, Any], key: str) -> Any:
    """Return the fingerprints of the names of examples, computed on the host: int32, of shape `(batch, 2)`."""
    scope = v1.current()
    value = features.get(key)
    name = scope.features.name_of(value) if isinstance(value, v1.HostTensor) else None
    if name is None:
        raise errors.BadTypeError(
            "LinearSDCA knows examples by strings. Expected: a feature of strings of shape (batch,). Received: "
            f"features[{shown(key)}]={shown(value)}. Use tf.strings.as_string in the input_fn's dataset.map."
        )
    return scope.features.compute_on_host(
        functools.partial(_fingerprint, name, Fingerprints()), [name], "sdca_words"
    )["words"]


def _fingerprint(name: str, known: Fingerprints, batch: Mapping[str, Any]) -> dict[str, np.ndarray]:
    strings = np.asarray(batch[name]).reshape(-1).tolist()
    words = known.of([each if isinstance(each, bytes) else str(each).encode() for each in strings])
    # Two words of 32 bits; the first is never 0, as that of a row without an example.
    pairs = np.ascontiguousarray(words).view(np.int32).reshape(-1, 2)
    return {"words": np.where([True, False] & (pairs == 0), np.int32(1), pairs)}
