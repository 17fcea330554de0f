"""What a feature column is: a half on the host, and a half in the step (feature_column layer).

The host's half takes features as they are read (strings, SparseTensors, numbers) and gives ids and weights as arrays of
numbers. The other half computes with these, on the device: embeddings, one-hot vectors, weighted sums. So strings never
enter a compiled step.
"""

import abc
from typing import Any

import numpy as np

from stratax import errors
from stratax.base.shown import shown
from stratax.tensorflow.feature_column._cells import Cells, pad_rows, round_width
from stratax.tensorflow.feature_column._sources import (
    ID_PARTS,
    ColumnTable,
    DeviceFeatures,
    HostFeatures,
    Weights,
)

# Ids are int32 in the step.
_LARGEST_ID = 2**31


class FeatureColumn(abc.ABC):
    """A description of what a model makes of features. The functions of this package make them."""

    @property
    @abc.abstractmethod
    def name(self) -> str:
        """The name, which says what it is made of."""

    @property
    def var_scope_name(self) -> str:
        """The name of the variable scope of its variables."""
        return self.name

    @property
    @abc.abstractmethod
    def parse_example_spec(self) -> dict[str, Any]:
        """How its features are parsed from Examples, by key."""

    @property
    @abc.abstractmethod
    def host_columns(self) -> tuple["HostColumn", ...]:
        """The columns whose half on the host it takes."""

    @property
    def tables(self) -> tuple[ColumnTable, ...]:
        """The variables that it needs; none unless it says so."""
        return ()

    @property
    def dense_keys(self) -> tuple[str, ...]:
        """The features that it takes as numbers, in the step."""
        return ()


class DenseColumn(FeatureColumn):
    """A column that gives a dense array."""

    @property
    @abc.abstractmethod
    def variable_shape(self) -> tuple[int, ...]:
        """The shape of one example's values."""

    @abc.abstractmethod
    def dense(self, features: DeviceFeatures, weights: Weights) -> Any:
        """Return its values, of shape `(batch, *variable_shape)`, in the step."""


class SequenceDenseColumn(FeatureColumn):
    """A column that gives a dense array for each step of a sequence."""

    @property
    @abc.abstractmethod
    def step_size(self) -> int:
        """How many values one step has."""

    @abc.abstractmethod
    def steps(self, features: DeviceFeatures, weights: Weights) -> tuple[Any, Any]:
        """Return its values, of shape `(batch, steps, step_size)`, and each example's number of steps."""


class HostColumn(FeatureColumn):
    """A column with a half on the host."""

    @property
    @abc.abstractmethod
    def keys_read(self) -> tuple[str, ...]:
        """The features that it reads there."""

    @property
    @abc.abstractmethod
    def parts(self) -> tuple[str, ...]:
        """The names of the arrays that it may give; the first is always there."""

    @property
    @abc.abstractmethod
    def fills(self) -> dict[str, float]:
        """What stands for nothing in the arrays whose second dimension differs between batches, by part."""

    @property
    def is_by_row(self) -> bool:
        """Whether what it computes of an example depends on that example alone, and on no function of the user's."""
        return False

    @property
    def needs_host(self) -> bool:
        """Whether the step can't compute it, of numbers that are there."""
        return True

    @abc.abstractmethod
    def arrays(self, features: HostFeatures) -> dict[str, np.ndarray]:
        """Return what it computes on the host, by part: numbers, whose first dimension is the batch's."""


class CategoricalColumn(HostColumn):
    """A column that gives ids."""

    @property
    @abc.abstractmethod
    def num_buckets(self) -> int:
        """The number of ids, which are from 0 to it."""

    @abc.abstractmethod
    def cells(self, features: HostFeatures) -> Cells:
        """Return its ids on the host; -1 for what is not in it."""

    @property
    def parts(self) -> tuple[str, ...]:
        return ID_PARTS

    @property
    def fills(self) -> dict[str, float]:
        return {"ids": -1, "weights": 0}

    @property
    def host_columns(self) -> tuple[HostColumn, ...]:
        return (self,)

    @property
    def is_sequence(self) -> bool:
        """Whether the cells of a row are steps of a sequence."""
        return False

    def arrays(self, features: HostFeatures) -> dict[str, np.ndarray]:
        return _id_arrays(self, self.cells(features))

    def device_ids(self, features: DeviceFeatures) -> tuple[Any, Any] | None:
        """Return ids and weights computed in the step, where that is possible: from numbers that are there only."""
        del features
        return None


def check_key(key: object) -> str:
    """Return a feature's name.

    Raises:
        BadArgumentError: It is no string.
    """
    if not isinstance(key, str):
        raise errors.BadArgumentError(
            f"key must be a string: the name of a feature. Received: key={shown(key)} ({type(key).__name__})."
        )
    return key


def check_categorical(column: object, argument: str = "categorical_column") -> CategoricalColumn:
    """Return a column that gives ids.

    Raises:
        BadArgumentError: It is something else.
    """
    if not isinstance(column, CategoricalColumn):
        raise errors.BadArgumentError(
            f"{argument} must be a categorical column, as a function categorical_column_with_*, bucketized_column or "
            f"crossed_column gives it. Received: {shown(column)}."
        )
    return column


def sort_columns(feature_columns: Any) -> list[FeatureColumn]:
    """Return columns in the order of their names, as TensorFlow takes them.

    Args:
        feature_columns: One, or an iterable of them.

    Raises:
        BadArgumentError: There is none, something else among them, or two have one name.
    """
    given = [feature_columns] if isinstance(feature_columns, FeatureColumn) else feature_columns
    if isinstance(given, dict):
        raise errors.BadArgumentError(
            f"feature_columns must be a list of feature columns. Received: {shown(given)}. Pass list(d.values())."
        )
    columns = list(given)
    if not columns:
        raise errors.BadArgumentError("feature_columns must not be empty. Pass one column at least.")
    found: dict[str, FeatureColumn] = {}
    for column in columns:
        if not isinstance(column, FeatureColumn):
            raise errors.BadArgumentError(
                "Items of feature_columns must be feature columns, as the functions of tf.feature_column give them. "
                f"Received: {shown(column)} ({type(column).__name__})."
            )
        if column.name in found:
            raise errors.BadArgumentError(
                f"Two feature columns have the name {shown(column.name)}. Received: {shown(found[column.name])} and "
                f"{shown(column)}. Leave one of them out, or give the feature under another key, too."
            )
        found[column.name] = column
    # Names decide, so that a model's inputs and checkpoints don't depend on how a program lists its columns.
    return [found[name] for name in sorted(found)]


def _id_arrays(column: CategoricalColumn, cells: Cells) -> dict[str, np.ndarray]:
    num_buckets = column.num_buckets
    if num_buckets >= _LARGEST_ID:
        raise errors.BadArgumentError(
            f"Column {shown(column.name)} has more ids than 32 bits hold. Expected: fewer than {_LARGEST_ID}. "
            f"Received: {num_buckets}. Use fewer buckets."
        )
    ids = cells.values if cells.present is None else np.where(cells.present, cells.values, -1)
    # What is below 0 is no id, and no error.
    if ids.size and (largest := ids.max()) >= num_buckets:
        raise errors.BadArgumentError(
            f"Column {shown(column.name)} got an id out of its range. Expected: 0 to {num_buckets - 1}. "
            f"Received: {largest}. Give the column more buckets or a default_value."
        )
    # Each new width compiles a program: that of a SparseTensor, which differs between batches, is rounded up.
    width = round_width(ids.shape[1]) if cells.is_sparse else ids.shape[1]
    # Far below 0 an id of 64 bits could become one that there is.
    made = {"ids": pad_rows(np.maximum(ids, -1).astype(np.int32), width, -1)}
    if cells.weights is not None:
        made["weights"] = pad_rows(cells.weights.astype(np.float32), width, 0)
    if column.is_sequence:
        made["lengths"] = cells.lengths
    return made
