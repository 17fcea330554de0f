"""Where columns find features: on the host for ids, in the step for everything else (feature_column layer)."""

import abc
import collections
import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import keras
import numpy as np

from stratax import errors
from stratax.base import providers
from stratax.base.recording import RECORDER
from stratax.base.shown import shown
from stratax.data import SparseTensor
from stratax.tensorflow import v1
from stratax.tensorflow.feature_column._cells import Cells, cells_of
from stratax.tensorflow.feature_column._codes import Coded, Codes
from stratax.tensorflow.ops.text.fingerprints import Fingerprints, Words
from stratax.tensorflow.v1 import ByRow, Compute, HostTensor

# In the order of the attributes of `ColumnIds`.
ID_PARTS = ("ids", "weights", "lengths")


class KnownStrings:
    """What is known of strings of the batches before.

    Attributes:
        fingerprints: Fingerprints of strings.
        codes: By feature, its strings, and what columns have made of them.
    """

    def __init__(self) -> None:
        self.fingerprints = Fingerprints()
        self.codes: dict[str, Codes] = collections.defaultdict(Codes)


class Numbers(Protocol):
    """A column of numbers."""

    @property
    def key(self) -> str:
        """The feature that it reads."""

    def normalized(self, value: object) -> Any:
        """Return a batch of the feature, normalized."""


class ReadsFeatures(Protocol):
    """A column that reads features on the host."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def keys_read(self) -> tuple[str, ...]:
        """The features."""


class GivesIds(ReadsFeatures, Protocol):
    """A column that computes ids."""

    def device_ids(self, features: "DeviceFeatures") -> tuple[Any, Any] | None:
        """Return ids and weights computed in the step, where that is possible."""


class HostFeatures:
    """The features of a batch, on the host.

    Args:
        features: Arrays, nested lists or SparseTensors, by key.
        known: What is known of batches before.

    Attributes:
        known: The same.
    """

    def __init__(self, features: Mapping[str, Any], known: KnownStrings) -> None:
        self.known = known
        self._features = features
        # Several columns may read one feature: each form of it is made once.
        self._cells: dict[str, Cells] = {}
        self._words: dict[str, Words] = {}
        self._coded: dict[str, Coded | None] = {}

    def raw(self, key: str) -> Cells:
        """Return a feature as cells."""
        if key not in self._cells:
            self._cells[key] = cells_of(key, feature_of(self._features, key))
        return self._cells[key]

    def words(self, key: str) -> Words:
        """Return the fingerprints of a feature's values, also where there is none, in the shape of its cells."""
        if key not in self._words:
            values = self.raw(key).values
            self._words[key] = self.known.fingerprints.of(values.reshape(-1).tolist()).reshape(values.shape)
        return self._words[key]

    def words_of(self, strings: list[Any]) -> Words:
        """Return the fingerprints of strings."""
        # Fingerprints are of bytes; a program may give text.
        return self.known.fingerprints.of(
            [each.encode() if isinstance(each, str) else each for each in strings]
        )

    def encode_feature(self, key: str) -> Coded | None:
        """Return a dense feature of strings as codes, of shape `(batch, width)`; None for another one."""
        if key not in self._coded:
            value = feature_of(self._features, key)
            # Of strings only: to compute with numbers is quicker than to look them up.
            # What is empty has no width that -1 could stand for.
            is_coded = isinstance(value, np.ndarray) and value.dtype.kind == "O" and value.ndim and value.size
            self._coded[key] = self.known.codes[key].of(value.reshape(len(value), -1)) if is_coded else None
        return self._coded[key]

    def numeric(self, column: Numbers) -> np.ndarray:
        """Return the values of a numeric column, of shape `(batch, *shape)`, normalized, as float32."""
        value = np.asarray(feature_of(self._features, column.key))
        return np.asarray(column.normalized(value), np.float32)


@dataclasses.dataclass(frozen=True, eq=False)
class ColumnIds:
    """Ids of a column in the step.

    Attributes:
        ids: int32, of shape `(batch, width)`; -1 where there is none.
        weights: float32, of the same shape, or None.
        lengths: int32, of shape `(batch,)`: how long each example's sequence is, for columns of sequences.
    """

    ids: Any
    weights: Any = None
    lengths: Any = None


class DeviceFeatures:
    """The features of a batch in the step: those that are numbers, and the ids of columns.

    Args:
        arrays: What :meth:`Transformation.prepared` gave.
    """

    def __init__(self, arrays: Mapping[str, Any]) -> None:
        self._arrays = arrays

    def raw(self, key: str) -> Any:
        """Return a feature that is an array of numbers, with a dimension for the batch and one more at least.

        Raises:
            BadArgumentError: It is missing, holds strings, is sparse or a scalar.
        """
        array = jnp.asarray(_numbers(key, feature_of(self._arrays, key)))
        if array.ndim == 0:
            raise errors.BadArgumentError(
                f"Feature {shown(key)} has no dimension for the batch. Expected: shape (batch,) or (batch, n). "
                f"Received: {shown(array)}. Batch the dataset, or reshape the feature."
            )
        # A feature of one number for each example may be parsed without a dimension of its own.
        return array[:, None] if array.ndim == 1 else array

    def part(self, column: ReadsFeatures, part: str) -> Any:
        """Return an array that a column computed on the host.

        Raises:
            BadArgumentError: It was not, as a feature was computed in the step.
        """
        # As `Transformation.ids_on_host` names it.
        key = f"{column.name}/{part}"
        if key not in self._arrays:
            raise _not_on_host(column)
        return jnp.asarray(self._arrays[key])

    def ids(self, column: "GivesIds") -> ColumnIds:
        """Return the ids of a column."""
        if f"{column.name}/ids" in self._arrays:
            parts = (self._arrays.get(f"{column.name}/{part}") for part in ID_PARTS)
            return ColumnIds(*(None if part is None else jnp.asarray(part) for part in parts))
        # The host has left them to the step, as for numbers that the step computes.
        made = column.device_ids(self)
        if made is None:
            raise _not_on_host(column)
        return ColumnIds(*made)


@dataclasses.dataclass(frozen=True)
class ColumnTable:
    """A variable of a column.

    Attributes:
        owner: The column's name, or what several share it by.
        name: Its name below that.
        shape: Its shape.
        initializer: Gives its first value.
        trainable: Whether it is trained.
        is_shared: Whether several columns have it.
        is_scoped: Whether `owner` is a variable scope, as TensorFlow 1 has it, or the variable's own name.
    """

    owner: str
    name: str
    shape: tuple[int, ...]
    initializer: Callable[..., Any]
    trainable: bool
    is_shared: bool = False
    is_scoped: bool = True


class Weights(abc.ABC):
    """Where columns' variables are: in a variable scope, or in a layer."""

    @abc.abstractmethod
    def get(self, table: ColumnTable) -> Any:
        """Return the value of a variable."""


def feature_of(features: Mapping[str, Any], key: str) -> Any:
    """Return a feature.

    Raises:
        BadArgumentError: It is missing.
    """
    if key not in features:
        raise errors.BadArgumentError(
            f"Feature {shown(key)} is not in the features dictionary. Expected: one of the keys. Received: "
            f"{shown(sorted(map(str, features)))}. Let the input_fn give it, or mend the column's key."
        )
    return features[key]


class Transformation:
    """The host's half of columns: from features as they are read to arrays of numbers.

    What it returns can be given to :func:`input_layer` and :func:`linear_model` instead of the features. So it may run
    in `Dataset.map` behind `batch`, or before a compiled step.

    Args:
        columns: Feature columns.

    Raises:
        BadArgumentError: Two different categorical columns have one name.

    Example:
        >>> import numpy as np
        >>> import stratax.feature_column as fc
        >>> color = fc.categorical_column_with_vocabulary_list("color", ["red", "green"])
        >>> fc.Transformation([fc.indicator_column(color)]).host_features({"color": np.array(["green", "blue"])})
        {'color/ids': array([[ 1],
               [-1]], dtype=int32)}
    """

    def __init__(self, columns: Iterable[Any]) -> None:
        given = list(columns)
        # Columns are compared by value: an embedding and an indicator of equal columns share what the host computes.
        self.columns = tuple(dict.fromkeys(each for column in given for each in column.host_columns))
        self._dense_keys = tuple(dict.fromkeys(key for column in given for key in column.dense_keys))
        self._known = KnownStrings()
        # Asked for once: the names of crosses are made of others.
        self._named = [(column, column.name) for column in self.columns]
        names: dict[str, Any] = {}
        for column in self.columns:
            # Their arrays would have one key.
            if names.setdefault(column.name, column) != column:
                raise errors.BadArgumentError(
                    f"Two different columns have the name {shown(column.name)}. Received: {shown(column)} and "
                    f"{shown(names[column.name])}. Make a Transformation, or a layer, for each."
                )

    def host_features(self, features: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """Return the columns' ids, and the features that columns use as numbers.

        Args:
            features: A batch of features, by key: NumPy arrays, also of strings, or SparseTensors.

        Returns:
            By key: ``"<column>/ids"``, int32 of shape `(batch, width)` with -1 where there is none, with
            ``"<column>/weights"`` and ``"<column>/lengths"`` where a column has them, ``"<column>/values"`` of
            sequences of numbers; and numbers under their own keys.

        Raises:
            BadArgumentError: A feature is missing or of the wrong kind, or a value is out of a column's range.
        """
        dense = {key: np.asarray(feature_of(features, key)) for key in self._dense_keys}
        return {**dense, **self.ids_on_host(features)}

    def ids_on_host(self, features: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """Return the columns' ids only."""
        host = HostFeatures(features, self._known)
        made: dict[str, np.ndarray] = {}
        for column, name in self._named:
            made.update({f"{name}/{part}": array for part, array in column.arrays(host).items()})
        return made

    def prepared(self, features: Mapping[str, Any]) -> dict[str, Any]:
        """Return what the columns take in the step: arrays of numbers, with the ids that the host computes.

        Args:
            features: As they are in the step: arrays, also traced ones, host tensors, or what `host_features` gave.
        """
        made = {key: _numbers(key, feature_of(features, key)) for key in self._dense_keys}
        on_host = []
        for column in self.columns:
            given = [f"{column.name}/{part}" for part in column.parts]
            # The first part is always there: somebody has run the host's half already, in `Dataset.map` for instance.
            if given[0] in features:
                made.update({key: features[key] for key in given if key in features})
            elif _needs_host(column, features):
                on_host.append(column)
            else:
                # The step gets the features themselves, and `DeviceFeatures.ids` asks the column.
                made.update({key: feature_of(features, key) for key in column.keys_read})
        return {**made, **_compute_on_host(on_host, features)}


def _not_on_host(column: ReadsFeatures) -> errors.BadArgumentError:
    return errors.BadArgumentError(
        f"Column {shown(column.name)} is computed on the host, and a feature that it reads "
        f"({', '.join(column.keys_read)}) was computed in the step. Expected: the features as the input_fn gives them. "
        "Compute them in the input_fn's dataset.map."
    )


def _numbers(key: str, value: object) -> Any:
    """Return a feature of numbers as it is.

    Raises:
        BadArgumentError: It is something else.
    """
    array = np.asarray(value) if isinstance(value, list | tuple) else value
    kind = getattr(getattr(array, "dtype", None), "kind", "")
    if isinstance(value, HostTensor | SparseTensor) or kind in ("O", "S", "U"):
        raise errors.BadArgumentError(
            f"Feature {shown(key)} is used as a dense array of numbers. Expected: numbers of shape (batch, n). "
            f"Received: {shown(value)}. Parse it as FixedLenFeature of numbers, or use a categorical column."
        )
    return array


def _is_of_step(value: object) -> bool:
    # Keras' symbolic tensors have no values, either.
    return isinstance(value, jax.core.Tracer | keras.KerasTensor)


def _needs_host(column: Any, features: Mapping[str, Any]) -> bool:
    """Return whether the ids of a column are computed on the host: else they are computed in the step."""
    values = [feature_of(features, key) for key in column.keys_read]
    # All values are at hand, as in eager calls.
    if not any(map(_is_of_step, values)):
        return True
    if RECORDER.get() is not None:
        # What the step can't compute, an export's host does: it knows all that the program is given.
        return column.needs_host or not all(map(_is_of_step, values))
    scope = v1.current_or_none()
    # Traced, but a feature as it came: the host has it too. What the model_fn computed is known to the step only.
    return scope is not None and all(scope.features.name_of(value) is not None for value in values)


def _compute_on_host(columns: list[Any], features: Mapping[str, Any]) -> dict[str, Any]:
    """Return ids that are computed now, of values, or before each step, of a model's features."""
    if RECORDER.get() is not None:
        return _compute_for_export(columns, features)
    now: list[Any] = []
    before: list[Any] = []
    for column in columns:
        values = [features[key] for key in column.keys_read]
        has_values = not any(_is_of_step(value) or isinstance(value, HostTensor) for value in values)
        # Columns of values and of a model's features may stand in one layer.
        (now if has_values else before).append(column)
    # What a column's normalizer_fn computes has values, although a function may be being traced.
    with jax.ensure_compile_time_eval():
        made: dict[str, Any] = dict(Transformation(now).ids_on_host(features))
    return {**made, **_before_each_step(before, features)} if before else made


def _compute_for_export(columns: list[Any], features: Mapping[str, Any]) -> dict[str, Any]:
    """Return ids that the host of an export computes."""
    # It knows the kinds of columns, which know this.
    (module,) = providers.providers("columns of exports")
    made: dict[str, Any] = {}
    for column in columns:
        found = module.export_arrays(column, {key: features[key] for key in column.keys_read})
        made.update({f"{column.name}/{part}": array for part, array in found.items()})
    return made


def _before_each_step(columns: list[Any], features: Mapping[str, Any]) -> dict[str, Any]:
    keys = list(dict.fromkeys(key for column in columns for key in column.keys_read))
    scope = v1.current_or_none()
    # There are neither values nor a model before whose steps they could be computed.
    if scope is None:
        raise errors.ModelScopeError(
            "Features on the host were used in a compiled function. Expected: a model_fn, or features that "
            f"Transformation(columns).host_features gave. Received: {shown(keys)}."
        )
    names = {key: scope.features.name_of(features[key]) for key in keys}
    unknown = [key for key, name in names.items() if name is None]
    if unknown:
        raise errors.BadArgumentError(
            f"Columns read features on the host that were computed in the model_fn: {shown(unknown)}. Expected: the "
            "features as the input_fn gives them. Compute them in the input_fn's dataset.map."
        )
    # By what they read, too: two layers of equal columns share what the host computes, if it is of the same features.
    asked = [(column, tuple(names[key] for key in column.keys_read)) for column in columns]
    found = scope.features.compute_shared(
        asked,
        lambda new: _on_host([column for column, _ in new], names),
        [str(name) for name in names.values()],
        "feature_columns",
    )
    made: dict[str, Any] = {}
    for column, arrays in zip(columns, found, strict=True):
        parts = (f"{column.name}/{part}" for part in column.parts)
        made.update({part: arrays[part] for part in parts if part in arrays})
    return made


def _on_host(columns: list[Any], names: Mapping[str, str | None]) -> tuple[Compute, dict[str, float]]:
    """Return what computes columns of features by their names on the host, and what it fills arrays up with."""
    transformation = Transformation(columns)

    def compute(batch: dict[str, Any]) -> dict[str, np.ndarray]:
        return transformation.ids_on_host({key: batch[str(name)] for key, name in names.items()})

    # Then it may be given the examples of several batches in one call.
    is_by_row = all(column.is_by_row for column in columns)
    return ByRow(compute) if is_by_row else compute, {
        f"{each.name}/{part}": fill for each in columns for part, fill in each.fills.items()
    }


def num_elements(shape: tuple[int, ...]) -> int:
    """Return how many values a shape has."""
    return math.prod(shape)
