"""`input_layer` and `linear_model`: what a model makes of features, as TensorFlow 1 has them (feature_column layer)."""

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import jax.numpy as jnp
import keras

from stratax import errors
from stratax.base.shown import shown
from stratax.data import FixedLenFeature
from stratax.tensorflow import v1
from stratax.tensorflow.feature_column._column import (
    CategoricalColumn,
    DenseColumn,
    FeatureColumn,
    sort_columns,
)
from stratax.tensorflow.feature_column._embedding import combine_embeddings
from stratax.tensorflow.feature_column._sources import (
    ColumnTable,
    DeviceFeatures,
    Transformation,
    Weights,
    num_elements,
)

_MODEL_VARIABLES = "model_variables"


class _ScopeWeights(Weights):
    """Variables in the variable scope that is entered.

    Args:
        trainable: Whether any is trained.
        collections: What they are added to.
    """

    def __init__(self, trainable: bool, collections: Iterable[str] | None) -> None:
        self._trainable = trainable
        # TensorFlow's columns add their variables to the model's, whatever else is asked for.
        self._collections = list(dict.fromkeys([*(collections or ()), _MODEL_VARIABLES]))

    def get(self, table: ColumnTable) -> Any:
        if table.is_shared:
            return self._find_shared(table).value
        return self.variable(table.name, table.shape, table.initializer, table.trainable).value

    def variable(
        self, name: str, shape: tuple[int, ...], initializer: Callable[..., Any], trainable: bool = True
    ) -> Any:
        """Return a variable of the scope."""
        return v1.get_variable(
            name,
            shape,
            "float32",
            initializer,
            trainable=self._trainable and trainable,
            collections=self._collections,
        )

    def _find_shared(self, table: ColumnTable) -> Any:
        # As in TensorFlow the collection of the table's name holds the variable: the first column makes it.
        scope = v1.current()
        found = scope.collections.get(table.owner)
        if found:
            return found[0]
        if table.is_scoped:
            made = self.variable(table.name, table.shape, table.initializer, table.trainable)
        else:
            # By its full name, outside of the scope that is entered: TensorFlow 2's shared tables stand beside the
            # layers.
            made = scope.make_variable(
                table.owner,
                table.shape,
                initializer=table.initializer,
                trainable=self._trainable and table.trainable,
            )
        scope.collections.add(table.owner, made)
        return made


class _NoWeights(Weights):
    """Where no model is built: columns without variables can be computed all the same."""

    def get(self, table: ColumnTable) -> Any:
        raise errors.ModelScopeError(
            f"Column {shown(table.owner)} has a variable, and there is no model to have it. Expected: a call of "
            "input_layer or linear_model in a model_fn. Use the layer DenseFeatures elsewhere."
        )


def input_layer(
    features: Mapping[str, Any],
    feature_columns: object,
    weight_collections: Iterable[str] | None = None,
    trainable: bool = True,
    cols_to_vars: dict[Any, Any] | None = None,
    cols_to_output_tensors: dict[Any, Any] | None = None,
) -> Any:
    """Return what dense columns make of features, side by side, as `tf.compat.v1.feature_column.input_layer`.

    In a `model_fn`, features of strings and SparseTensors stay on the host: their ids are computed before each step.

    Args:
        features: A batch, by key: arrays, strings and SparseTensors, or what :class:`Transformation` made of them.
        feature_columns: Dense columns. They are taken in the order of their names.
        weight_collections: Collections that variables are added to.
        trainable: Whether variables are trained.
        cols_to_vars: Gets the list of variables of each column.
        cols_to_output_tensors: Gets the part of the result that is of each column.

    Returns:
        float32, of shape `(batch, size)`.

    Raises:
        BadArgumentError: If a column is not dense, a feature is missing or does not fit its column.
        ModelScopeError: If a column has variables, and it is not called in a `model_fn`.

    Example:
        >>> import numpy as np
        >>> import stratax.feature_column as fc
        >>> columns = [fc.numeric_column("b"), fc.bucketized_column(fc.numeric_column("a"), [0.0])]
        >>> fc.input_layer({"a": np.array([1.0]), "b": np.array([5.0])}, columns).tolist()
        [[0.0, 1.0, 5.0]]
    """
    columns = [_check_dense(column) for column in sort_columns(feature_columns)]
    given = _prepare_features(columns, features)
    weights: Weights = _ScopeWeights(trainable, weight_collections) if _in_model() else _NoWeights()
    if not _in_model():
        # Without a model there are no scopes, and no variables to name.
        parts = [_flat(column, given[column], weights) for column in columns]
    else:
        parts = []
        with v1.variable_scope(None, default_name="input_layer"):
            for column in columns:
                # Made unique below the layer, as in TensorFlow.
                with v1.variable_scope(None, default_name=column.var_scope_name) as scope:
                    parts.append(_as_one(functools.partial(_flat, column, given[column], weights)))
                    if cols_to_vars is not None:
                        cols_to_vars[column] = scope.global_variables()
    if cols_to_output_tensors is not None:
        cols_to_output_tensors.update(zip(columns, parts, strict=True))
    check_batch_sizes(columns, parts)
    return jnp.concatenate(parts, axis=1)


def _prepare_features(columns: Sequence[Any], features: Mapping[str, Any]) -> dict[Any, DeviceFeatures]:
    """Return what each column takes in the step; several may read one feature in different ways."""
    # Of each group: its host columns, by name.
    groups: list[dict[str, Any]] = []
    columns_of: list[list[Any]] = []
    for column in columns:
        needed = {each.name: each for each in column.host_columns}
        fitting = (
            number
            for number, names in enumerate(groups)
            if all(names.get(name, each) == each for name, each in needed.items())
        )
        # Columns of one name that differ would write the same keys, and come into different groups.
        number = next(fitting, len(groups))
        if number == len(groups):
            groups.append({})
            columns_of.append([])
        groups[number].update(needed)
        columns_of[number].append(column)
    found: dict[Any, DeviceFeatures] = {}
    for group in columns_of:
        given = DeviceFeatures(Transformation(group).prepared(features))
        found.update(dict.fromkeys(group, given))
    return found


def linear_model(
    features: Mapping[str, Any],
    feature_columns: object,
    units: int = 1,
    sparse_combiner: str = "sum",
    weight_collections: Iterable[str] | None = None,
    trainable: bool = True,
    cols_to_vars: dict[Any, Any] | None = None,
) -> Any:
    """Return a weighted sum of what columns make of features, as `tf.compat.v1.feature_column.linear_model`.

    Args:
        features: As in :func:`input_layer`.
        feature_columns: Dense and categorical columns. A categorical one has a weight for each id, without a table of
            ones and zeros.
        units: The size of the result.
        sparse_combiner: How the weights of several ids become one: ``"sum"``, ``"mean"`` or ``"sqrtn"``.
        weight_collections: Collections that variables are added to.
        trainable: Whether variables are trained.
        cols_to_vars: Gets the list of variables of each column, and that of the bias under ``"bias"``.

    Returns:
        float32, of shape `(batch, units)`. The variables are ``"linear_model/<column>/weights"`` and
        ``"linear_model/bias_weights"``, all zeros at first.

    Raises:
        BadArgumentError: If a feature is missing or does not fit its column.
        ModelScopeError: If it is not called in a `model_fn`.
    """
    columns = sort_columns(feature_columns)
    for column in columns:
        if not isinstance(column, DenseColumn | CategoricalColumn):
            raise errors.BadArgumentError(
                f"linear_model takes dense and categorical columns. Received: {shown(column)}."
            )
    given = _prepare_features(columns, features)
    weights = _ScopeWeights(trainable, weight_collections)
    name = _free_name("linear_model")
    # TensorFlow makes the names of columns unique beside the model's, not below it.
    named = sorted(
        ((_free_name(column.var_scope_name), column) for column in columns), key=lambda pair: pair[0]
    )
    sums = []
    with v1.variable_scope(name):
        for layer, column in named:
            with v1.variable_scope(layer) as scope:
                sums.append(
                    _as_one(
                        functools.partial(
                            _sum_weighted, column, given[column], weights, units, sparse_combiner
                        )
                    )
                )
                if cols_to_vars is not None:
                    cols_to_vars[column] = scope.global_variables()
        bias = weights.variable("bias_weights", (units,), keras.initializers.Zeros())
    if cols_to_vars is not None:
        cols_to_vars["bias"] = [bias]
    check_batch_sizes([column for _, column in named], sums)
    total = sums[0]
    for each in sums[1:]:
        total = total + each
    return total + bias.value


def linear_inputs(features: Mapping[str, Any], feature_columns: object) -> dict[Any, tuple[Any, Any]]:
    """Return what :func:`linear_model` weighs, by column.

    Args:
        features: As in :func:`input_layer`.
        feature_columns: Dense columns without variables, and categorical ones.

    Returns:
        For each column, in the order of names: float32 values of shape `(batch, size)`, and the rows of its weights
        that they belong to, int32 of the same shape; None for those of a dense column, which are all. A value of an id
        that is in no vocabulary is 0.

    Raises:
        BadArgumentError: If a feature is missing or does not fit its column.
        ModelScopeError: If a column has variables.
    """
    columns: list[Any] = sort_columns(feature_columns)
    given = _prepare_features(columns, features)
    found: dict[Any, tuple[Any, Any]] = {}
    for column in columns:
        if not isinstance(column, CategoricalColumn):
            found[column] = _flat(column, given[column], _NoWeights()), None
            continue
        made = given[column].ids(column)
        values = jnp.ones(made.ids.shape, jnp.float32) if made.weights is None else made.weights
        # Absent cells point at the first row, with a weight of 0.
        found[column] = jnp.where(made.ids < 0, 0.0, values), jnp.maximum(made.ids, 0)
    return found


def make_parse_example_spec(feature_columns: Iterable[FeatureColumn]) -> dict[str, Any]:
    """Return how the features of columns are parsed, as `tf.feature_column.make_parse_example_spec`.

    Args:
        feature_columns: Columns.

    Returns:
        For `parse_example`, by key.

    Raises:
        BadArgumentError: Two columns parse one feature differently, or something is no column.

    Example:
        >>> import stratax.feature_column as fc
        >>> fc.make_parse_example_spec([fc.numeric_column("age")])
        {'age': FixedLenFeature(shape=(1,), dtype=dtype('float32'), default_value=None)}
    """
    spec: dict[str, Any] = {}
    for column in feature_columns:
        if not isinstance(column, FeatureColumn):
            raise errors.BadArgumentError(
                f"feature_columns must be feature columns. Received: {shown(column)} ({type(column).__name__})."
            )
        for key, parsed in column.parse_example_spec.items():
            if key in spec and _signature(spec[key]) != _signature(parsed):
                raise errors.BadArgumentError(
                    f"Columns parse feature {shown(key)} differently. Received: {shown(spec[key])} and "
                    f"{shown(parsed)}. Give the columns one dtype, shape and default, or the feature two keys."
                )
            spec[key] = parsed
    return spec


def check_batch_sizes(columns: Iterable[FeatureColumn], parts: list[Any]) -> None:
    """Raise where columns' results differ in their first dimension.

    Raises:
        BadArgumentError: They do.
    """
    sizes = {column.name: part.shape[0] for column, part in zip(columns, parts, strict=True)}
    if len(set(sizes.values())) > 1:
        raise errors.BadArgumentError(
            f"The features of a batch have one number of examples. Received: {shown(sizes)}, by column. Mend the "
            "input_fn."
        )


def flat_size(column: DenseColumn) -> int:
    """Return how many values of one example a dense column has."""
    return num_elements(column.variable_shape)


def _free_name(name: str) -> str:
    # To enter a scope is what makes its name unique, and takes it.
    with v1.variable_scope(None, default_name=name) as scope:
        # The full name begins with those of the scopes around it.
        return scope.name.rpartition("/")[2]


def _in_model() -> bool:
    return v1.current_or_none() is not None


def _as_one(compute: Callable[[], Any]) -> Any:
    """Return what a column gives as one result: how many operations it takes depends on how many ids examples have."""
    return v1.current().values.as_one(compute)


def _check_dense(column: FeatureColumn) -> DenseColumn:
    if not isinstance(column, DenseColumn):
        raise errors.BadArgumentError(
            "input_layer takes dense columns. Received: "
            f"{shown(column)}. Wrap a categorical column in embedding_column or indicator_column."
        )
    return column


def _flat(column: DenseColumn, features: DeviceFeatures, weights: Weights) -> Any:
    return column.dense(features, weights).reshape(-1, flat_size(column))


def _sum_weighted(
    column: Any, features: DeviceFeatures, weights: _ScopeWeights, units: int, combiner: str
) -> Any:
    zeros = keras.initializers.Zeros()
    if isinstance(column, CategoricalColumn):
        table = weights.variable("weights", (column.num_buckets, units), zeros)
        return combine_embeddings(table.value, features.ids(column), combiner)
    table = weights.variable("weights", (flat_size(column), units), zeros)
    return _flat(column, features, weights) @ table.value


def _signature(parsed: Any) -> Any:
    if isinstance(parsed, FixedLenFeature):
        # All that changes how an Example is parsed.
        return type(parsed), parsed.shape, parsed.dtype, parsed.default_value
    return type(parsed), parsed.dtype
