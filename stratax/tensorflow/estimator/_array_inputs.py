"""`numpy_input_fn` and `pandas_input_fn`: input functions of what is in memory (estimator layer)."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from stratax import errors
from stratax.base.shown import shown
from stratax.data import Dataset
from stratax.data.elements import as_array

_TARGET = "target"


def numpy_input_fn(
    x: np.ndarray | Mapping[str, np.ndarray],
    y: np.ndarray | Mapping[str, np.ndarray] | None = None,
    batch_size: int = 128,
    num_epochs: int | None = 1,
    shuffle: bool | None = None,
    queue_capacity: int = 1000,
    num_threads: int = 1,
) -> Callable[[], Dataset]:
    """Return an input function of arrays, as `tf.compat.v1.estimator.inputs.numpy_input_fn`.

    Args:
        x: The features, an array or a dict of arrays; the first dimension counts examples.
        y: The labels, likewise; None for features only.
        batch_size: How many examples a batch has; the last one has what is left.
        num_epochs: How often to go through them; None without end. Batches span epochs.
        shuffle: Whether to take them in random order, another one each time; has to be given.
        queue_capacity: Ignored: the whole is shuffled.
        num_threads: Ignored.

    Returns:
        A function without arguments that returns a Dataset.

    Raises:
        BadArgumentError: If `shuffle` is not given, the lengths differ, or `x` has no arrays.
        BadTypeError: If something is no array.

    Example:
        >>> import numpy as np
        >>> made = numpy_input_fn({"a": np.arange(3.0)}, np.arange(3), batch_size=2, shuffle=False)
        >>> [features["a"].tolist() for features, _ in made()]
        [[0.0, 1.0], [2.0]]
    """
    if not isinstance(shuffle, bool):
        raise errors.BadArgumentError(
            "shuffle must be provided and explicitly set as boolean (it is recommended to set it as True for "
            f"training). Received: shuffle={shown(shuffle)}."
        )
    features = _arrays("x", x)
    labels = None if y is None else _arrays("y", y)
    found = [*_values(features), *([] if labels is None else _values(labels))]
    if not found:
        raise errors.BadArgumentError(f"x has no arrays. Received: x={shown(x)}.")
    lengths = {len(array) for array in found}
    if len(lengths) != 1:
        raise errors.BadArgumentError(
            "Length of tensors in x and y is mismatched. All elements in x and y must have the same length. Received: "
            f"{', '.join(map(str, sorted(lengths)))}."
        )

    def input_fn() -> Dataset:
        element = features if labels is None else (features, labels)
        return _batches(element, len(found[0]), batch_size, num_epochs, shuffle=shuffle)

    return input_fn


def pandas_input_fn(
    x: Any,
    y: Any = None,
    batch_size: int = 128,
    num_epochs: int | None = 1,
    shuffle: bool | None = None,
    queue_capacity: int = 1000,
    num_threads: int = 1,
    target_column: str = _TARGET,
) -> Callable[[], Dataset]:
    """Return an input function of a table, as `tf.compat.v1.estimator.inputs.pandas_input_fn`.

    Args:
        x: A `pandas.DataFrame`: a feature for each column.
        y: The labels, a `Series` or `DataFrame` with the same index; None for features only.
        batch_size: How many examples a batch has; the last one has what is left.
        num_epochs: How often to go through them; None without end. Batches span epochs.
        shuffle: Whether to take them in random order, another one each time; has to be given.
        queue_capacity: Ignored: the whole is shuffled.
        num_threads: Ignored.
        target_column: Ignored: labels have no name in the input.

    Returns:
        A function without arguments that returns a Dataset.

    Raises:
        BadArgumentError: If `shuffle` is not given or the indices differ.
        BadTypeError: If `x` is no table.
    """
    if not hasattr(x, "columns"):
        raise errors.BadTypeError(f"x must be a pandas DataFrame. Received: x={shown(x)}.")
    if y is not None and not np.array_equal(x.index, y.index):
        raise errors.BadArgumentError(
            "Index for x and y are mismatched. Expected: the same rows in the same order. Received: "
            f"x with {len(x)} rows, y with {len(y)}."
        )
    features = {str(name): _column(x[name]) for name in x.columns}
    labels: Any = None
    if y is not None:
        labels = {str(name): _column(y[name]) for name in y.columns} if hasattr(y, "columns") else _column(y)
    return numpy_input_fn(features, labels, batch_size, num_epochs, shuffle)


def _column(series: Any) -> np.ndarray:
    array: np.ndarray = as_array(series.to_numpy())
    return array


def _batches(
    element: object, count: int, batch_size: int, num_epochs: int | None, *, shuffle: bool
) -> Dataset:
    dataset = Dataset.from_tensor_slices(element)
    if shuffle:
        dataset = dataset.shuffle(count)
    return dataset.repeat(num_epochs).batch(batch_size)


def _arrays(name: str, value: object) -> Any:
    if isinstance(value, Mapping):
        return {key: _array(f"{name}[{shown(key)}]", part) for key, part in value.items()}
    return _array(name, value)


def _array(name: str, value: object) -> np.ndarray:
    if not isinstance(value, np.ndarray) or not value.shape:
        raise errors.BadTypeError(
            f"{name} must be a NumPy array whose first dimension counts examples. Received: {name}={shown(value)}."
        )
    return value


def _values(arrays: Any) -> list[np.ndarray]:
    return list(arrays.values()) if isinstance(arrays, Mapping) else [arrays]
