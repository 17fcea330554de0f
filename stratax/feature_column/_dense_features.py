"""`DenseFeatures` and `SequenceFeatures`: feature columns as layers (feature_column layer)."""

from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp
import keras
import numpy as np

from stratax import errors
from stratax._shown import shown
from stratax.feature_column._column import DenseColumn, sorted_columns
from stratax.feature_column._models import check_batch_sizes, flat_size
from stratax.feature_column._sources import DeviceFeatures, Table, Transformation, Weights


class _TableLayer(keras.layers.Layer):
    """One column's variable, whose name is below the layer's."""

    def __init__(self, table: Table) -> None:
        super().__init__(name=table.owner)
        self._table = table

    def build(self, input_shape: object = None) -> None:
        """Make the variable."""
        del input_shape
        self.weight = self.add_weight(
            shape=self._table.shape,
            initializer=lambda shape, dtype=None: self._table.initializer(shape, dtype),
            dtype="float32",
            trainable=self._table.trainable,
            name=self._table.name,
        )


class _LayerWeights(Weights):
    """Variables of a layer."""

    def __init__(self, layers: list[_TableLayer]) -> None:
        self._layers = {layer.name: layer for layer in layers}

    def get(self, table: Table) -> Any:
        return self._layers[table.owner].weight.value


class DenseFeatures(keras.layers.Layer):
    """A layer that makes a dense array of features, as `tf.keras.layers.DenseFeatures`.

    Args:
        feature_columns: Dense columns. They are taken in the order of their names.
        trainable: Whether its variables are trained.
        name: Its name.
        **kwargs: Of `keras.layers.Layer`.

    Raises:
        BadArgumentError: If a column is not dense.

    Example:
        >>> import numpy as np
        >>> import stratax.feature_column as fc
        >>> color = fc.categorical_column_with_vocabulary_list("color", ["red", "green"])
        >>> layer = fc.DenseFeatures([fc.indicator_column(color), fc.numeric_column("size")])
        >>> layer({"color": np.array(["green"]), "size": np.array([3.0])}).tolist()
        [[0.0, 1.0, 3.0]]
    """

    def __init__(
        self, feature_columns: Any, trainable: bool = True, name: str | None = None, **kwargs: Any
    ) -> None:
        # Features are no activations: ids and large numbers are not to be rounded.
        super().__init__(trainable=trainable, name=name, autocast=False, **kwargs)
        columns = sorted_columns(feature_columns)
        for column in columns:
            if not isinstance(column, DenseColumn):
                raise errors.BadArgumentError(
                    f"DenseFeatures takes dense columns. Received: {shown(column)}. Wrap a categorical column in "
                    "embedding_column or indicator_column."
                )
        self._columns: list[Any] = columns
        self._transformation = Transformation(columns)
        self._tables: list[_TableLayer] = []

    def __call__(
        self,
        features: Mapping[str, Any],
        cols_to_output_tensors: dict[Any, Any] | None = None,
        training: bool | None = None,
    ) -> Any:
        """Return what the columns make of features, side by side.

        Args:
            features: A batch, by key: arrays, strings and SparseTensors, or what :class:`Transformation` made of them.
            cols_to_output_tensors: Gets the part of the result that is of each column.
            training: Ignored.

        Returns:
            float32, of shape `(batch, size)`.

        Raises:
            BadTypeError: If `features` is no dictionary.
            BadArgumentError: If a feature is missing or does not fit its column.
        """
        del training
        if not isinstance(features, Mapping):
            raise errors.BadTypeError(
                f"DenseFeatures takes a dictionary of features. Received: {shown(features)}."
            )
        # Keras converts the arguments of a layer to tensors, which strings can't become: it gets numbers only.
        result = super().__call__(self._transformation.prepared(features))
        if cols_to_output_tensors is not None:
            ends = np.cumsum([flat_size(column) for column in self._columns])
            parts = jnp.split(result, ends[:-1], axis=1)
            cols_to_output_tensors.update(zip(self._columns, parts, strict=True))
        return result

    def build(self, input_shape: object) -> None:
        """Make the columns' variables."""
        del input_shape
        tables = {table.owner: table for column in self._columns for table in column.tables}
        self._tables = [_TableLayer(table) for table in tables.values()]
        for layer in self._tables:
            layer.build()

    def call(self, features: Mapping[str, Any]) -> Any:
        """Compute the result of arrays of numbers."""
        given, weights = DeviceFeatures(features), _LayerWeights(self._tables)
        parts = [column.dense(given, weights).reshape(-1, flat_size(column)) for column in self._columns]
        check_batch_sizes(self._columns, parts)
        return jnp.concatenate(parts, axis=1)
