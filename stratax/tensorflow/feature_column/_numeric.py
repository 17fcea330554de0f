"""Columns of numbers: as they are, or in buckets (feature_column layer)."""

import dataclasses
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from stratax import errors
from stratax.base.shown import shown
from stratax.base.typing import DTypeLike
from stratax.data import FixedLenFeature
from stratax.tensorflow.feature_column._cells import Cells
from stratax.tensorflow.feature_column._column import CategoricalColumn, DenseColumn, HostColumn, check_key
from stratax.tensorflow.feature_column._sources import DeviceFeatures, HostFeatures, Weights, num_elements
from stratax.tensorflow.ops.calls.dtypes import as_dtype


@dataclasses.dataclass(frozen=True)
class NumericColumn(DenseColumn):
    """What :func:`numeric_column` gives."""

    key: str
    shape: tuple[int, ...]
    default_value: Any
    dtype: np.dtype
    normalizer_fn: Callable[[Any], Any] | None

    @property
    def name(self) -> str:
        return self.key

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        return {self.key: FixedLenFeature(self.shape, self.dtype, self.default_value)}

    @property
    def host_columns(self) -> tuple[HostColumn, ...]:
        return ()

    @property
    def dense_keys(self) -> tuple[str, ...]:
        return (self.key,)

    @property
    def variable_shape(self) -> tuple[int, ...]:
        return self.shape

    def dense(self, features: DeviceFeatures, weights: Weights) -> Any:
        del weights
        # Whatever the column's dtype is: in TensorFlow, too, that is for parsing only.
        return jnp.asarray(self.normalized(features.raw(self.key))).astype(jnp.float32)

    def normalized(self, value: Any) -> Any:
        """Return a batch of the feature, of shape `(batch, *shape)`, normalized.

        Raises:
            BadArgumentError: It has another number of values.
        """
        # What comes from the host may lack the dimension that `DeviceFeatures.raw` adds.
        value = value[:, None] if value.ndim == 1 else value
        wanted = num_elements(self.shape)
        # How many values an example has is what counts, not how they are arranged.
        if num_elements(tuple(value.shape[1:])) != wanted:
            raise errors.BadArgumentError(
                f"Feature {shown(self.key)} has another shape than its column. Expected: (batch, "
                f"{', '.join(map(str, self.shape))}). Received: {tuple(value.shape)}. Pass "
                f"numeric_column({shown(self.key)}, shape={tuple(value.shape[1:])}), or reshape the feature."
            )
        # Before it has the column's shape: TensorFlow calls the function with the feature as it was parsed.
        value = value if self.normalizer_fn is None else self.normalizer_fn(value)
        return value.reshape(value.shape[0], *self.shape)


def numeric_column(
    key: str,
    shape: object = (1,),
    default_value: object = None,
    dtype: DTypeLike = "float32",
    normalizer_fn: Callable[[Any], Any] | None = None,
) -> NumericColumn:
    """Return a column of numbers, as `tf.feature_column.numeric_column`.

    Args:
        key: The feature's name.
        shape: The shape of one example's values.
        default_value: What an Example without the feature gets: one number, or as many as the shape has.
        dtype: The dtype that the feature is parsed to. The column itself is float32.
        normalizer_fn: Called with the feature as an array, of shape `(batch, *shape)`.

    Raises:
        BadArgumentError: The key is no string, the shape not of positive whole numbers, or the default of another
            shape.
        BadTypeError: The default is not of the dtype, or `normalizer_fn` can't be called.

    Example:
        >>> import numpy as np
        >>> import stratax.feature_column as fc
        >>> age = fc.numeric_column("age", normalizer_fn=lambda x: x / 50)
        >>> fc.input_layer({"age": np.array([25.0, 50.0])}, [age]).tolist()
        [[0.5], [1.0]]
    """
    check_key(key)
    sizes = _sizes(key, shape)
    kind = as_dtype(dtype)
    # NumPy's kind of bfloat16 is V.
    if kind.kind not in "iufV":
        raise errors.BadArgumentError(
            f"dtype must be of whole or floating-point numbers. Received: dtype={shown(dtype)}, key={shown(key)}."
        )
    if normalizer_fn is not None and not callable(normalizer_fn):
        raise errors.BadTypeError(
            f"normalizer_fn must be a function of an array. Received: normalizer_fn={shown(normalizer_fn)}."
        )
    return NumericColumn(key, sizes, _default(key, default_value, sizes, kind), kind, normalizer_fn)


@dataclasses.dataclass(frozen=True)
class BucketizedColumn(DenseColumn, CategoricalColumn):
    """What :func:`bucketized_column` gives."""

    source_column: NumericColumn
    boundaries: tuple[float, ...]

    @property
    def name(self) -> str:
        return f"{self.source_column.name}_bucketized"

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        return self.source_column.parse_example_spec

    @property
    def dense_keys(self) -> tuple[str, ...]:
        return (self.source_column.key,)

    @property
    def host_columns(self) -> tuple[HostColumn, ...]:
        return ()

    @property
    def keys_read(self) -> tuple[str, ...]:
        return (self.source_column.key,)

    @property
    def variable_shape(self) -> tuple[int, ...]:
        return (*self.source_column.shape, len(self.boundaries) + 1)

    @property
    def num_buckets(self) -> int:
        # Each of a feature's values has buckets of its own.
        return (len(self.boundaries) + 1) * self.source_column.shape[0]

    def dense(self, features: DeviceFeatures, weights: Weights) -> Any:
        # Shape (batch, *shape, buckets), which is `variable_shape` behind the batch.
        return jax.nn.one_hot(self._buckets(features, weights), len(self.boundaries) + 1, dtype=jnp.float32)

    @property
    def is_by_row(self) -> bool:
        # A user's function may look at the whole batch.
        return self.source_column.normalizer_fn is None

    @property
    def needs_host(self) -> bool:
        return False

    def device_ids(self, features: DeviceFeatures) -> tuple[Any, Any]:
        return self._buckets(features, None) + self._offsets, None

    def cells(self, features: HostFeatures) -> Cells:
        numbers = features.numeric(self.source_column)
        return Cells(np.searchsorted(self._limits, numbers, side="right") + self._offsets)

    def _buckets(self, features: DeviceFeatures, weights: Any) -> Any:
        numbers = self.source_column.dense(features, weights)
        # A comparison with each boundary is quicker than a search of few, and vectorised.
        # No comparison with NaN holds, while TensorFlow searches, and finds it behind all boundaries.
        return jnp.sum(numbers[..., None] >= self._limits, axis=-1, dtype=jnp.int32) + jnp.where(
            jnp.isnan(numbers), len(self.boundaries), 0
        )

    @property
    def _limits(self) -> np.ndarray:
        # As the numbers are: a boundary of 0.1 has to be the 0.1 of a float32.
        return np.asarray(self.boundaries, np.float32)

    @property
    def _offsets(self) -> np.ndarray:
        # The first id of each place in the feature.
        return np.arange(self.source_column.shape[0], dtype=np.int32) * (len(self.boundaries) + 1)


def bucketized_column(source_column: NumericColumn, boundaries: Sequence[float]) -> BucketizedColumn:
    """Return a column of the buckets that numbers fall into, as `tf.feature_column.bucketized_column`.

    Args:
        source_column: A numeric column of one dimension.
        boundaries: Sorted numbers. Bucket 0 is below the first, bucket `i` from boundary `i - 1`, which is in it.

    Raises:
        BadArgumentError: The column is another one, or the boundaries are not sorted, or repeated.

    Example:
        >>> import numpy as np
        >>> import stratax.feature_column as fc
        >>> age = fc.bucketized_column(fc.numeric_column("age"), [18, 65])
        >>> fc.input_layer({"age": np.array([17.0, 18.0])}, [age]).tolist()
        [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    """
    if not isinstance(source_column, NumericColumn):
        raise errors.BadArgumentError(
            f"source_column must be a numeric_column. Received: source_column={shown(source_column)}."
        )
    if len(source_column.shape) > 1:
        raise errors.BadArgumentError(
            f"source_column must have one dimension. Received: shape={source_column.shape}, key="
            f"{shown(source_column.key)}. Reshape the feature."
        )
    limits = list(boundaries) if isinstance(boundaries, list | tuple) else []
    if not limits or any(low >= high for low, high in itertools.pairwise(limits)):
        raise errors.BadArgumentError(
            "boundaries must be a list of numbers, each larger than the one before. Received: boundaries="
            f"{shown(boundaries)}. Sort them and leave repeated ones out."
        )
    return BucketizedColumn(source_column, tuple(limits))


def _sizes(key: str, shape: object) -> tuple[int, ...]:
    sizes = tuple(shape) if isinstance(shape, list | tuple) else (shape,)
    if not all(isinstance(size, int | np.integer) and size > 0 for size in sizes):
        raise errors.BadArgumentError(
            f"shape must be of whole numbers from 1. Received: shape={shown(shape)}, key={shown(key)}."
        )
    return tuple(int(size) for size in sizes)


def _default(key: str, value: object, shape: tuple[int, ...], dtype: np.dtype) -> Any:
    """Return a default of the column's shape as nested tuples, which can be compared."""
    if value is None:
        return None
    array = np.asarray(value)
    # As TensorFlow: a fraction is no default of whole numbers, the other way round is fine.
    if array.dtype.kind not in "iuf" or (array.dtype.kind == "f" and dtype.kind != "f"):
        raise errors.BadTypeError(
            f"default_value must be of the column's dtype, {dtype}. Received: default_value={shown(value)}, "
            f"key={shown(key)}."
        )
    if array.ndim and array.shape != shape:
        raise errors.BadArgumentError(
            f"default_value must be one number, or have the column's shape, {shape}. Received: default_value="
            f"{shown(value)}, key={shown(key)}."
        )
    # Columns are keys of dicts, which arrays can't be.
    return _tuples(np.broadcast_to(array, shape).tolist())


def _tuples(value: object) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
