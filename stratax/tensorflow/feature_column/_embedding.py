"""Columns that make dense arrays of ids: embeddings, shared ones, indicators (feature_column layer)."""

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import keras

from stratax import errors
from stratax.base.shown import shown
from stratax.checkpoint import load_variable
from stratax.tensorflow.feature_column._categorical import WeightedCategoricalColumn
from stratax.tensorflow.feature_column._column import (
    CategoricalColumn,
    DenseColumn,
    HostColumn,
    SequenceDenseColumn,
    check_categorical,
)
from stratax.tensorflow.feature_column._sequence import SequenceCategoricalColumn
from stratax.tensorflow.feature_column._sources import ColumnIds, ColumnTable, DeviceFeatures, Weights

_COMBINERS = ("mean", "sqrtn", "sum")


class _OfCategories(DenseColumn, SequenceDenseColumn):
    """A dense column of the ids of a categorical one."""

    categorical_column: CategoricalColumn

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        return self.categorical_column.parse_example_spec

    @property
    def host_columns(self) -> tuple[HostColumn, ...]:
        # Those of numbers are computed in the step, where it takes the numbers.
        return self.categorical_column.host_columns

    @property
    def dense_keys(self) -> tuple[str, ...]:
        return self.categorical_column.dense_keys

    @property
    def step_size(self) -> int:
        return self.variable_shape[-1]

    def sequence(self, features: DeviceFeatures) -> ColumnIds:
        """Return the ids of a sequence.

        Raises:
            BadArgumentError: They are of none.
        """
        if not self.categorical_column.is_sequence:
            raise errors.BadArgumentError(
                f"Column {shown(self.name)} is of no sequence. Expected: a column made of "
                f"sequence_categorical_column_with_*. Received: {shown(self.categorical_column)}. Use DenseFeatures."
            )
        return features.ids(self.categorical_column)

    def check_no_sequence(self) -> None:
        """Raise where the ids are of a sequence.

        Raises:
            BadArgumentError: They are.
        """
        if self.categorical_column.is_sequence:
            raise errors.BadArgumentError(
                f"Column {shown(self.name)} is of a sequence. Expected: a column of one example's values, for "
                "input_layer, DenseFeatures and linear_model. Received: sequence_categorical_column_with_*. Use "
                "categorical_column_with_*, or SequenceFeatures."
            )


@dataclasses.dataclass(frozen=True)
class EmbeddingColumn(_OfCategories):
    """What :func:`embedding_column` gives."""

    categorical_column: CategoricalColumn
    dimension: int
    combiner: str
    initializer: Callable[..., Any]
    ckpt_to_load_from: str | None
    tensor_name_in_ckpt: str | None
    max_norm: float | None
    trainable: bool
    use_safe_embedding_lookup: bool = True

    @property
    def name(self) -> str:
        return f"{self.categorical_column.name}_embedding"

    @property
    def variable_shape(self) -> tuple[int, ...]:
        return (self.dimension,)

    def dense(self, features: DeviceFeatures, weights: Weights) -> Any:
        self.check_no_sequence()
        return combine_embeddings(
            weights.get(*self.tables), features.ids(self.categorical_column), self.combiner, self.max_norm,
            is_safe=self.use_safe_embedding_lookup,
        )  # fmt: skip

    def steps(self, features: DeviceFeatures, weights: Weights) -> tuple[Any, Any]:
        return _steps(weights.get(*self.tables), self.sequence(features), self.max_norm)

    @property
    def tables(self) -> tuple[ColumnTable, ...]:
        shape = (self.categorical_column.num_buckets, self.dimension)
        start = _initializer(self.initializer, self.ckpt_to_load_from, self.tensor_name_in_ckpt, shape)
        return (ColumnTable(self.name, "embedding_weights", shape, start, self.trainable),)


def embedding_column(
    categorical_column: CategoricalColumn,
    dimension: int,
    combiner: str = "mean",
    initializer: Callable[..., Any] | None = None,
    ckpt_to_load_from: str | None = None,
    tensor_name_in_ckpt: str | None = None,
    max_norm: float | None = None,
    trainable: bool = True,
    use_safe_embedding_lookup: bool = True,
) -> EmbeddingColumn:
    """Return a column of embeddings of ids, as `tf.feature_column.embedding_column`.

    Args:
        categorical_column: The column of the ids.
        dimension: The size of an embedding.
        combiner: How the embeddings of several ids become one: ``"mean"``, ``"sqrtn"`` or ``"sum"``. An example
            without ids gets zeros.
        initializer: A function of a shape and a dtype; by default a truncated normal distribution with standard
            deviation `1 / sqrt(dimension)`.
        ckpt_to_load_from: A checkpoint whose array the embeddings begin with.
        tensor_name_in_ckpt: The name of that array.
        max_norm: Embeddings with a larger L2 norm are scaled to it, before they are combined.
        trainable: Whether they are trained.
        use_safe_embedding_lookup: Whether weights that are not positive are left out, except by ``"sum"``.

    Raises:
        BadArgumentError: The dimension is not positive, the combiner another one, the initializer no function, or one
            of the two arguments of the checkpoint is missing.

    Example:
        >>> import stratax.feature_column as fc
        >>> word = fc.categorical_column_with_hash_bucket("word", 100)
        >>> fc.embedding_column(word, 8).variable_shape
        (8,)
    """
    check_categorical(categorical_column)
    start = _check(dimension, combiner, initializer, ckpt_to_load_from, tensor_name_in_ckpt)
    return EmbeddingColumn(
        categorical_column,
        int(dimension),
        combiner,
        start,
        ckpt_to_load_from,
        tensor_name_in_ckpt,
        max_norm,
        trainable,
        use_safe_embedding_lookup,
    )


@dataclasses.dataclass(frozen=True)
class SharedEmbeddingColumn(_OfCategories):
    """What :func:`shared_embeddings` gives for each column."""

    categorical_column: CategoricalColumn
    shared: ColumnTable
    combiner: str
    max_norm: float | None
    use_safe_embedding_lookup: bool = True

    @property
    def name(self) -> str:
        return f"{self.categorical_column.name}_shared_embedding"

    @property
    def var_scope_name(self) -> str:
        # TensorFlow enters one scope for all columns that share a table.
        return self.shared.owner

    @property
    def variable_shape(self) -> tuple[int, ...]:
        return self.shared.shape[1:]

    @property
    def tables(self) -> tuple[ColumnTable, ...]:
        return (self.shared,)

    def dense(self, features: DeviceFeatures, weights: Weights) -> Any:
        self.check_no_sequence()
        return combine_embeddings(
            weights.get(*self.tables), features.ids(self.categorical_column), self.combiner, self.max_norm,
            is_safe=self.use_safe_embedding_lookup,
        )  # fmt: skip

    def steps(self, features: DeviceFeatures, weights: Weights) -> tuple[Any, Any]:
        return _steps(weights.get(*self.tables), self.sequence(features), self.max_norm)


def shared_embeddings(
    categorical_columns: Sequence[CategoricalColumn],
    dimension: int,
    combiner: str = "mean",
    initializer: Callable[..., Any] | None = None,
    shared_embedding_collection_name: str | None = None,
    ckpt_to_load_from: str | None = None,
    tensor_name_in_ckpt: str | None = None,
    max_norm: float | None = None,
    trainable: bool = True,
    use_safe_embedding_lookup: bool = True,
) -> list[SharedEmbeddingColumn]:
    """Return columns that share one table of embeddings, as `tf.feature_column.shared_embeddings`.

    Args:
        categorical_columns: Columns of one kind and number of ids.
        dimension: The size of an embedding.
        combiner: As of :func:`embedding_column`, as the others.
        initializer: See there.
        shared_embedding_collection_name: The name of the variable; by default made of the columns' names.
        ckpt_to_load_from: See there.
        tensor_name_in_ckpt: See there.
        max_norm: See there.
        trainable: See there.
        use_safe_embedding_lookup: See there.

    Returns:
        One column for each, in their order. They are for `DenseFeatures`; `input_layer` takes them, too.

    Raises:
        BadArgumentError: The columns do not fit one another, or as in :func:`embedding_column`.
    """
    return _make_shared(
        categorical_columns,
        dimension,
        combiner,
        initializer,
        shared_embedding_collection_name,
        (ckpt_to_load_from, tensor_name_in_ckpt),
        max_norm,
        trainable,
        use_safe_embedding_lookup,
        is_scoped=False,
    )


def shared_embedding_columns(
    categorical_columns: Sequence[CategoricalColumn],
    dimension: int,
    combiner: str = "mean",
    initializer: Callable[..., Any] | None = None,
    shared_embedding_collection_name: str | None = None,
    ckpt_to_load_from: str | None = None,
    tensor_name_in_ckpt: str | None = None,
    max_norm: float | None = None,
    trainable: bool = True,
    use_safe_embedding_lookup: bool = True,
) -> list[SharedEmbeddingColumn]:
    """Return columns that share one table, as `tf.compat.v1.feature_column.shared_embedding_columns`.

    They differ from :func:`shared_embeddings` in the variable's name, which is
    ``"input_layer/<shared_embedding_collection_name>/embedding_weights"``.

    Args:
        categorical_columns: As of :func:`shared_embeddings`, as the others.
        dimension: See there.
        combiner: See there.
        initializer: See there.
        shared_embedding_collection_name: The name of the variable scope; by default made of the columns' names.
        ckpt_to_load_from: See there.
        tensor_name_in_ckpt: See there.
        max_norm: See there.
        trainable: See there.
        use_safe_embedding_lookup: See there.
    """
    return _make_shared(
        categorical_columns,
        dimension,
        combiner,
        initializer,
        shared_embedding_collection_name,
        (ckpt_to_load_from, tensor_name_in_ckpt),
        max_norm,
        trainable,
        use_safe_embedding_lookup,
        is_scoped=True,
    )


@dataclasses.dataclass(frozen=True)
class IndicatorColumn(_OfCategories):
    """What :func:`indicator_column` gives."""

    categorical_column: CategoricalColumn

    @property
    def name(self) -> str:
        return f"{self.categorical_column.name}_indicator"

    @property
    def variable_shape(self) -> tuple[int, ...]:
        return (1, self.categorical_column.num_buckets)

    def dense(self, features: DeviceFeatures, weights: Weights) -> Any:
        del weights
        self.check_no_sequence()
        found = features.ids(self.categorical_column)
        hot = self._hot(found)
        # (batch, width, ids) to (batch, 1, ids): counts of an example's values, in the shape that TensorFlow's has.
        return jnp.sum(hot, axis=1)[:, None, :]

    def steps(self, features: DeviceFeatures, weights: Weights) -> tuple[Any, Any]:
        del weights
        found = self.sequence(features)
        return self._hot(found), found.lengths

    def _hot(self, found: ColumnIds) -> Any:
        # What is absent has the id -1, which is no column of the result: zeros.
        hot = jax.nn.one_hot(found.ids, self.categorical_column.num_buckets, dtype=jnp.float32)
        return hot if found.weights is None else hot * found.weights[..., None]


def indicator_column(categorical_column: CategoricalColumn) -> IndicatorColumn:
    """Return a column that counts each id, as `tf.feature_column.indicator_column`; with weights, their sums.

    Args:
        categorical_column: The column of the ids.

    Raises:
        BadArgumentError: It gives no ids.
    """
    return IndicatorColumn(check_categorical(categorical_column))


def combine_embeddings(
    table: Any, found: ColumnIds, combiner: str, max_norm: float | None = None, *, is_safe: bool = True
) -> Any:
    """Return the combined embeddings of each example's ids.

    Args:
        table: The embeddings, of shape `(ids, dimension)`.
        found: Ids and weights, of shape `(batch, width)`.
        combiner: How they become one.
        max_norm: The largest norm of an embedding.
        is_safe: Whether weights that are not positive are left out, except by ``"sum"``.

    Returns:
        float32, of shape `(batch, dimension)`; zeros where there is no id.
    """
    is_there = found.ids >= 0
    if found.weights is not None and is_safe and combiner != "sum":
        is_there = is_there & (found.weights > 0)
    # Shape (batch, width): how much each id counts.
    scales = is_there.astype(table.dtype)
    if found.weights is not None:
        scales = scales * found.weights
    # Out of range, and so no row is touched: which ones are decides how an optimizer changes the others.
    ids = jnp.where(is_there, found.ids, table.shape[0])
    if is_safe and ids.shape[1]:
        # In TensorFlow an example without any id looks up the first row, and does not use it.
        is_empty = ~jnp.any(is_there, axis=1)
        ids = ids.at[:, 0].set(jnp.where(is_empty, 0, ids[:, 0]))
    # Without an array of weighted rows, (batch, width, dimension).
    sums = jnp.einsum("bn,bnd->bd", scales, _look_up(table, ids, max_norm))
    if combiner == "sum":
        return sums
    total = jnp.sum(scales if combiner == "mean" else scales**2, axis=1, keepdims=True)
    # "mean" divides by the sum of the weights, "sqrtn" by the root of the sum of their squares.
    total = total if combiner == "mean" else jnp.sqrt(total)
    # Divided by 1 where it is 0, so that gradients are numbers there, too.
    return jnp.where(total == 0, 0, sums / jnp.where(total == 0, 1, total))


def _look_up(table: Any, ids: Any, max_norm: float | None) -> Any:
    # Ids behind the table's end give zeros, and no gradient.
    rows = jnp.take(table, ids, axis=0, mode="fill", fill_value=0)
    if max_norm is None:
        return rows
    squares = jnp.sum(rows**2, axis=-1, keepdims=True)
    # The root of 0 has an infinite gradient, which the outer `where` alone would turn into NaN.
    norms = jnp.where(squares == 0, 0, jnp.sqrt(jnp.where(squares == 0, 1, squares)))
    # TensorFlow's `clip_by_norm`: rows within the limit are divided by what they were multiplied with.
    return rows * max_norm / jnp.maximum(norms, max_norm)


def _steps(table: object, found: ColumnIds, max_norm: float | None) -> tuple[Any, Any]:
    # As in `combine_embeddings`: what pads a sequence looks up the first row.
    rows = _look_up(table, jnp.maximum(found.ids, 0), max_norm)
    return jnp.where(found.ids[..., None] >= 0, rows, 0), found.lengths


def _make_shared(
    categorical_columns: Sequence[CategoricalColumn],
    dimension: int,
    combiner: str,
    initializer: Callable[..., Any] | None,
    name: str | None,
    checkpoint: tuple[str | None, str | None],
    max_norm: float | None,
    trainable: bool,
    use_safe_embedding_lookup: bool,
    *,
    is_scoped: bool,
) -> list[SharedEmbeddingColumn]:
    start = _check(dimension, combiner, initializer, *checkpoint)
    columns = [check_categorical(column, "Each of categorical_columns") for column in categorical_columns]
    if not columns:
        raise errors.BadArgumentError("categorical_columns must not be empty. Pass one column at least.")
    # The name of the variable must not depend on the order in which a program lists its columns.
    ordered = sorted(columns, key=lambda column: column.name)
    # Weights and sequences change how a column is used, but not the ids that it has.
    first = _innermost(ordered[0])
    for column in map(_innermost, ordered[1:]):
        # TensorFlow, too, wants one class: equal ids of a hash and of a vocabulary mean different things.
        if type(column) is not type(first) or column.num_buckets != first.num_buckets:
            raise errors.BadArgumentError(
                "Columns that share embeddings must be of one kind and have the same number of buckets. Received: "
                f"{shown(first)} and {shown(column)}. Use embedding_column for each."
            )
    shape = (first.num_buckets, int(dimension))
    shared = ColumnTable(
        name or "_".join(column.name for column in ordered) + "_shared_embedding",
        "embedding_weights",
        shape,
        _initializer(start, *checkpoint, shape),
        trainable,
        is_shared=True,
        is_scoped=is_scoped,
    )
    return [
        SharedEmbeddingColumn(column, shared, combiner, max_norm, use_safe_embedding_lookup)
        for column in columns
    ]


def _innermost(column: CategoricalColumn) -> CategoricalColumn:
    while isinstance(column, WeightedCategoricalColumn | SequenceCategoricalColumn):
        column = column.categorical_column
    return column


def _check(
    dimension: Any, combiner: str, initializer: Any, checkpoint: str | None, tensor: str | None
) -> Callable[..., Any]:
    if dimension is None or dimension < 1:
        raise errors.BadArgumentError(
            f"dimension must be at least 1. Received: dimension={shown(dimension)}."
        )
    if combiner not in _COMBINERS:
        raise errors.BadArgumentError(
            f"combiner must be one of {', '.join(map(repr, _COMBINERS))}. Received: combiner={shown(combiner)}."
        )
    if (checkpoint is None) != (tensor is None):
        raise errors.BadArgumentError(
            "ckpt_to_load_from and tensor_name_in_ckpt go together. Received: ckpt_to_load_from="
            f"{shown(checkpoint)}, tensor_name_in_ckpt={shown(tensor)}. Pass both or none."
        )
    if initializer is not None and not callable(initializer):
        raise errors.BadArgumentError(
            "initializer must be a function of a shape and a dtype. Received: initializer="
            f"{shown(initializer)}. Pass an instance, such as keras.initializers.RandomNormal()."
        )
    # TensorFlow's default.
    return _Default(1 / math.sqrt(dimension)) if initializer is None else initializer


@dataclasses.dataclass(frozen=True)
class _Default:
    """The default initializer. It draws a seed when it is called: so its numbers follow from the model's seed."""

    stddev: float

    def __call__(self, shape: Sequence[int], dtype: Any = None) -> Any:
        return keras.initializers.TruncatedNormal(0.0, self.stddev)(shape, dtype)


def _initializer(
    initializer: Callable[..., Any], checkpoint: str | None, tensor: str | None, shape: tuple[int, ...]
) -> Callable[..., Any]:
    if checkpoint is None or tensor is None:
        return initializer
    # Read at once: a variable whose initializer fails would be there all the same.
    value = load_variable(checkpoint, tensor)
    if tuple(value.shape) != shape:
        raise errors.BadArgumentError(
            f"The embeddings in a checkpoint have another shape. Expected: {shape}. Received: "
            f"{tuple(value.shape)} of {shown(tensor)} in {shown(checkpoint)}. Use as many buckets and dimensions."
        )
    # What a variable's initializer is called with is the shape that was compared above.
    return lambda shape, dtype=None: jnp.asarray(value, dtype)
