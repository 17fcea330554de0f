"""`DenseFeatures` and `SequenceFeatures`: feature columns as layers (feature_column layer)."""

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import keras
import numpy as np

from stratax import errors
from stratax.base.shown import shown
from stratax.tensorflow.feature_column._column import DenseColumn, SequenceDenseColumn, sort_columns
from stratax.tensorflow.feature_column._models import check_batch_sizes, flat_size
from stratax.tensorflow.feature_column._sources import ColumnTable, DeviceFeatures, Transformation, Weights


class _TableLayer(keras.layers.Layer):
    """One column's variable, whose name is below the layer's."""

    def __init__(self, table: ColumnTable) -> None:
        # So that a variable is `<layer>/<owner>/<name>`, as TensorFlow's layers name it.
        super().__init__(name=table.owner)
        self._table = table

    def build(self, input_shape: object = None) -> None:
        """Make the variable; its shape does not depend on the inputs."""
        # The layer that has it calls this without a shape.
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

    def get(self, table: ColumnTable) -> Any:
        return self._layers[table.owner].weight.value


class _FeaturesLayer(keras.layers.Layer):
    """What layers of columns have in common.

    Args:
        columns: The columns.
        trainable: Whether its variables are trained.
        name: Its name.
        **kwargs: Of `keras.layers.Layer`.
    """

    def __init__(self, columns: Sequence[Any], trainable: bool, name: str | None, **kwargs: object) -> None:
        # Features are no activations: ids and large numbers are not to be rounded.
        super().__init__(trainable=trainable, name=name, autocast=False, **kwargs)
        self._columns = list(columns)
        self._transformation = Transformation(columns)
        self._tables: list[_TableLayer] = []

    def __call__(self, features: Mapping[str, Any]) -> Any:
        """Return what the columns make of features."""
        if not isinstance(features, Mapping):
            raise errors.BadTypeError(
                f"{type(self).__name__} takes a dictionary of features. Received: {shown(features)}."
            )
        # Keras converts the arguments of a layer to tensors, which strings can't become: it gets numbers only.
        return super().__call__(self._transformation.prepared(features))

    def build(self, input_shape: object) -> None:
        """Make the columns' variables."""
        del input_shape
        # By owner: columns that share a table make it once.
        tables = {table.owner: table for column in self._columns for table in column.tables}
        self._tables = [_TableLayer(table) for table in tables.values()]
        for layer in self._tables:
            layer.build()


class DenseFeatures(_FeaturesLayer):
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
        self, feature_columns: object, trainable: bool = True, name: str | None = None, **kwargs: object
    ) -> None:
        columns = sort_columns(feature_columns)
        for column in columns:
            if not isinstance(column, DenseColumn):
                raise errors.BadArgumentError(
                    f"DenseFeatures takes dense columns. Received: {shown(column)}. Wrap a categorical column in "
                    "embedding_column or indicator_column."
                )
        super().__init__(columns, trainable, name, **kwargs)

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
        result = super().__call__(features)
        if cols_to_output_tensors is not None:
            # Where each column's part of the second dimension ends.
            ends = np.cumsum([flat_size(column) for column in self._columns])
            parts = jnp.split(result, ends[:-1], axis=1)
            cols_to_output_tensors.update(zip(self._columns, parts, strict=True))
        return result

    def call(self, features: Mapping[str, Any]) -> Any:
        """Compute the result of arrays of numbers."""
        given, weights = DeviceFeatures(features), _LayerWeights(self._tables)
        # Dimensions behind the batch become one, so that columns can stand side by side.
        parts = [column.dense(given, weights).reshape(-1, flat_size(column)) for column in self._columns]
        check_batch_sizes(self._columns, parts)
        return jnp.concatenate(parts, axis=1)


class SequenceFeatures(_FeaturesLayer):
    """A layer that makes sequences of dense arrays, as `tf.keras.experimental.SequenceFeatures`.

    Args:
        feature_columns: Columns made of `sequence_categorical_column_with_*` and `sequence_numeric_column`. They are
            taken in the order of their names.
        trainable: Whether its variables are trained.
        name: Its name.
        **kwargs: Of `keras.layers.Layer`.

    Raises:
        BadArgumentError: If a column is of no sequence.

    Example:
        >>> import stratax.feature_column as fc
        >>> layer = fc.SequenceFeatures([fc.sequence_numeric_column("x")])
        >>> values, lengths = layer({"x": [[1.0, 2.0], [3.0]]})
        >>> values[..., 0].tolist(), lengths.tolist()
        ([[1.0, 2.0], [3.0, 0.0]], [2, 1])
    """

    def __init__(
        self, feature_columns: object, trainable: bool = True, name: str | None = None, **kwargs: object
    ) -> None:
        columns = sort_columns(feature_columns)
        for column in columns:
            if not isinstance(column, SequenceDenseColumn):
                raise errors.BadArgumentError(
                    f"SequenceFeatures takes columns of sequences. Received: {shown(column)}. Wrap a categorical "
                    "column in embedding_column or indicator_column."
                )
        super().__init__(columns, trainable, name, **kwargs)

    def __call__(self, features: Mapping[str, Any], training: bool | None = None) -> Any:
        """Return what the columns make of sequences, side by side.

        Args:
            features: A batch, by key: SparseTensors, or rows of different lengths; or what :class:`Transformation` made
                of them.
            training: Ignored.

        Returns:
            float32, of shape `(batch, steps, size)`, and int32, of shape `(batch,)`: how many steps each example has.
            The arrays have the longest example's steps or a few more, so that shapes repeat.

        Raises:
            BadTypeError: If `features` is no dictionary.
            BadArgumentError: If a feature is missing or does not fit its column, or sequences differ in length.
        """
        # Taken as TensorFlow takes it: no column here does anything else in training.
        del training
        return super().__call__(features)

    def call(self, features: Mapping[str, Any]) -> Any:
        """Compute the result of arrays of numbers."""
        given, weights = DeviceFeatures(features), _LayerWeights(self._tables)
        parts, lengths = zip(*(column.steps(given, weights) for column in self._columns), strict=True)
        _check_lengths(self._columns, parts, lengths)
        # They have been compared: all columns of an example are equally long.
        return jnp.concatenate(parts, axis=2), lengths[0]


def _check_lengths(columns: Sequence[Any], parts: Any, lengths: Any) -> None:
    """Raise where sequences of one example differ in length; in a compiled step only where their shapes tell it."""
    shapes = [part.shape[:2] for part in parts]
    # A compiled step has no lengths that could be compared, and could not raise.
    is_traced = any(isinstance(each, jax.core.Tracer) for each in lengths)
    known = shapes if is_traced else [each.tolist() for each in lengths]
    if any(shape != shapes[0] for shape in shapes) or any(each != known[0] for each in known):
        raise errors.BadArgumentError(
            "The sequences of an example have one length in all columns. Received: "
            f"{shown({column.name: each for column, each in zip(columns, known, strict=True)})}, by column. Mend the "
            "input_fn, or make a layer for each."
        )
