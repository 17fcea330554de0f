"""Older forms of operations, for `Dataset.apply`: `tf.data.experimental` and `tf.contrib.data` (data layer)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stratax.base.shown import shown
from stratax.data.dataset._dataset import Dataset
from stratax.data.dataset._deriving import node_of
from stratax.data.elements import AUTOTUNE, DatasetSpec, TensorSpec, flatten, unflatten
from stratax.data.plan import as_count, threads_of
from stratax.data.sources import as_rows
from stratax.errors import BadArgumentError, BadTypeError

Transformation = Callable[[Dataset], Dataset]


@dataclass(frozen=True, slots=True)
class Reducer:
    """How the elements of a group become one, as `tf.data.experimental.Reducer`.

    Attributes:
        init_func: Gives the first state by a key.
        reduce_func: From a state and an element to the next state.
        finalize_func: From the last state to an element; the parts of a tuple are several arguments.
    """

    init_func: Callable[..., Any]
    reduce_func: Callable[..., Any]
    finalize_func: Callable[..., Any]


def group_by_reducer(key_func: Callable[..., Any], reducer: Reducer) -> Transformation:
    """Reduce the elements that have one key to one; they come by key, when all elements were read.

    Args:
        key_func: The key of an element (unpacked like in `map`): an int64 scalar.
        reducer: What is done with the elements of one key.

    Returns:
        What `Dataset.apply` takes.

    Example:
        >>> import numpy as np
        >>> from stratax.data import Dataset
        >>> from stratax.data.dataset.experimental import Reducer, group_by_reducer
        >>> sums = Reducer(lambda key: np.int64(0), lambda state, x: state + x, lambda state: state)
        >>> [int(x) for x in Dataset.range(10).apply(group_by_reducer(lambda x: x % 3, sums))]
        [18, 12, 15]
    """
    return lambda dataset: dataset.group_by_reducer(key_func, reducer)


def group_by_window(
    key_func: Callable[..., Any],
    reduce_func: Callable[..., Any],
    window_size: int | None = None,
    window_size_func: Callable[..., Any] | None = None,
) -> Transformation:
    """Gather elements by key: the arguments of :meth:`Dataset.group_by_window`, for `Dataset.apply`."""
    return lambda dataset: dataset.group_by_window(key_func, reduce_func, window_size, window_size_func)


def bucket_by_sequence_length(
    element_length_func: Callable[..., Any],
    bucket_boundaries: Sequence[int],
    bucket_batch_sizes: Sequence[int],
    padded_shapes: object = None,
    padding_values: object = None,
    pad_to_bucket_boundary: bool = False,
    no_padding: bool = False,
    drop_remainder: bool = False,
) -> Transformation:
    """Batch elements of like lengths: the arguments of :meth:`Dataset.bucket_by_sequence_length`."""
    return lambda dataset: dataset.bucket_by_sequence_length(
        element_length_func,
        bucket_boundaries,
        bucket_batch_sizes,
        padded_shapes,
        padding_values,
        pad_to_bucket_boundary,
        no_padding,
        drop_remainder,
    )


def scan(initial_state: object, scan_func: Callable[..., Any]) -> Transformation:
    """Hand a state on from element to element: the arguments of :meth:`Dataset.scan`, for `Dataset.apply`."""
    return lambda dataset: dataset.scan(initial_state, scan_func)


def take_while(predicate: Callable[..., Any]) -> Transformation:
    """Take elements up to the first that is refused, as :meth:`Dataset.take_while`, for `Dataset.apply`."""
    return lambda dataset: dataset.take_while(predicate)


def unique() -> Transformation:
    """Leave out elements that have come before, as :meth:`Dataset.unique`, for `Dataset.apply`."""
    return lambda dataset: dataset.unique()


def sample_from_datasets(
    datasets: Sequence[Dataset],
    weights: Any = None,
    seed: int | None = None,
    stop_on_empty_dataset: bool = False,
) -> Any:
    """Draw from several Datasets: see :meth:`Dataset.sample_from_datasets`."""
    return Dataset.sample_from_datasets(datasets, weights, seed, stop_on_empty_dataset)


def choose_from_datasets(
    datasets: Sequence[Dataset], choice_dataset: Dataset, stop_on_empty_dataset: bool = False
) -> Any:
    """Take from several Datasets by numbers: see :meth:`Dataset.choose_from_datasets`."""
    return Dataset.choose_from_datasets(datasets, choice_dataset, stop_on_empty_dataset)


def rejection_resample(
    class_func: Callable[..., Any], target_dist: Any, initial_dist: Any = None, seed: int | None = None
) -> Transformation:
    """Have classes come as often as they should: the arguments of :meth:`Dataset.rejection_resample`."""
    return lambda dataset: dataset.rejection_resample(class_func, target_dist, initial_dist, seed)


def dense_to_ragged_batch(
    batch_size: int, drop_remainder: bool = False, row_splits_dtype: Any = np.int64
) -> Transformation:
    """Batch elements of different sizes: the arguments of :meth:`Dataset.ragged_batch`, for `Dataset.apply`."""
    return lambda dataset: dataset.ragged_batch(batch_size, drop_remainder, row_splits_dtype)


def dense_to_sparse_batch(batch_size: int, row_shape: Any) -> Transformation:
    """Batch elements of different sizes: the arguments of :meth:`Dataset.sparse_batch`, for `Dataset.apply`."""
    return lambda dataset: dataset.sparse_batch(batch_size, row_shape)


def pad_to_cardinality(cardinality: int, mask_key: str = "valid") -> Transformation:
    """Add elements of zeros until there are so many, and say of each whether it was there.

    Args:
        cardinality: The number of elements.
        mask_key: The key of the boolean in each element, a dict: True for those that were there.

    Returns:
        What `Dataset.apply` takes. It raises a `BadArgumentError` for a Dataset of unknown length or of more elements,
        and where elements are no dicts of tensors whose sizes are known.

    Example:
        >>> from stratax.data import Dataset
        >>> from stratax.data.dataset.experimental import pad_to_cardinality
        >>> padded = Dataset.from_tensor_slices({"x": [7, 8]}).apply(pad_to_cardinality(3))
        >>> [(int(each["x"]), bool(each["valid"])) for each in padded]
        [(7, True), (8, True), (0, False)]
    """

    def apply(dataset: Dataset) -> Dataset:
        count = int(dataset.cardinality())
        if not 0 <= count <= cardinality:
            raise BadArgumentError(
                f"pad_to_cardinality needs a Dataset of known length, of at most {cardinality} elements. Received: "
                f"cardinality={count}. Say its length with assert_cardinality, or take fewer elements."
            )
        spec = dataset.element_spec
        if not isinstance(spec, dict):
            raise BadArgumentError(
                "`pad_to_cardinality` requires its input dataset to be a dictionary. Received: elements of "
                f"{shown(spec)}. Make them one in a map."
            )
        parts, structure = flatten(spec)
        filler = {**unflatten(structure, [_zeros(part) for part in parts]), mask_key: np.False_}
        marked = dataset.map(lambda element: {**element, mask_key: np.True_})
        return marked.concatenate(Dataset.from_tensors(filler).repeat(cardinality - count))

    return apply


def _zeros(spec: Any) -> np.ndarray:
    sizes = spec.shape if isinstance(spec, TensorSpec) else None
    known = [size for size in sizes or () if size is not None]
    if sizes is None or len(known) < len(sizes):
        raise BadArgumentError(
            f"pad_to_cardinality makes elements of tensors whose sizes are known. Received: {shown(spec)}."
        )
    return np.full(known, b"" if spec.dtype.hasobject else 0, spec.dtype)


def assert_cardinality(expected_cardinality: int) -> Transformation:
    """Say how many elements a Dataset has, which is checked when it ends, as `tf.data.experimental`'s.

    Args:
        expected_cardinality: The number of elements, or INFINITE_CARDINALITY.

    Returns:
        What `Dataset.apply` takes.

    Example:
        >>> from stratax.data import Dataset
        >>> from stratax.data.dataset.experimental import assert_cardinality
        >>> len(Dataset.range(9).filter(lambda x: x % 2 == 0).apply(assert_cardinality(5)))
        5
    """
    return lambda dataset: dataset.assert_cardinality(expected_cardinality)


def from_list(elements: Sequence[Any], name: str | None = None) -> Dataset:
    """Make a Dataset of the elements of a list, which may be structures, as `tf.data.experimental.from_list`.

    Args:
        elements: Elements of one structure.
        name: Ignored.

    Raises:
        BadArgumentError: There is no element.

    Example:
        >>> from stratax.data.dataset.experimental import from_list
        >>> [(int(x), y) for x, y in from_list([(1, "a"), (2, "b")]).as_numpy_iterator()]
        [(1, b'a'), (2, b'b')]
    """
    return Dataset(as_rows(elements))


def Counter(start: int = 0, step: int = 1, dtype: Any = np.int64) -> Any:
    """Count without an end, as `tf.data.experimental.Counter`: see :meth:`Dataset.counter`."""
    return Dataset.counter(start, step, dtype)


def RandomDataset(seed: int | None = None) -> Dataset:
    """Make endless random integers, as `tf.data.experimental.RandomDataset`: see :meth:`Dataset.random`."""
    return Dataset.random(seed)


def get_single_element(dataset: Dataset) -> Any:
    """Return the only element of a Dataset: see :meth:`Dataset.get_single_element`."""
    return dataset.get_single_element()


def get_structure(dataset_or_iterator: Any) -> Any:
    """Return the specs of the elements of a Dataset or an iterator, as `tf.data.experimental.get_structure`.

    Raises:
        BadTypeError: It is neither.
    """
    if not hasattr(dataset_or_iterator, "element_spec"):
        raise BadTypeError(
            "get_structure takes a Dataset or an iterator. "
            f"Received: {shown(dataset_or_iterator)} of type {type(dataset_or_iterator).__name__}."
        )
    return dataset_or_iterator.element_spec


def get_next_as_optional(iterator: Any) -> Any:
    """Return the next element if there is one, as `tf.data.experimental.get_next_as_optional`.

    Args:
        iterator: What `iter(dataset)` gives.

    Returns:
        An object with `has_value()` and `get_value()`.
    """
    return iterator.get_next_as_optional()


def at(dataset: Dataset, index: int) -> Any:
    """Return the element at a position, as `tf.data.experimental.at`.

    Args:
        dataset: A Dataset whose positions are reached at once (`is_indexable`).
        index: The position, from 0.

    Raises:
        BadTypeError: The Dataset can only be iterated.
        OutOfRangeError: It has no such element.

    Example:
        >>> from stratax.data import Dataset
        >>> from stratax.data.dataset.experimental import at
        >>> int(at(Dataset.range(10).map(lambda x: x * x), 3))
        9
    """
    return dataset.at(index)


def copy_to_device(target_device: str, source_device: str = "/cpu:0") -> Transformation:
    """Return elements as they are: to the devices the strategy brings them.

    Args:
        target_device: Ignored.
        source_device: Ignored.

    Returns:
        What `Dataset.apply` takes.
    """
    return lambda dataset: _check_devices_take(dataset)


def map_and_batch(
    map_func: Callable[..., Any],
    batch_size: int,
    num_parallel_batches: int | None = None,
    drop_remainder: bool = False,
    num_parallel_calls: int | None = None,
) -> Transformation:
    """Apply `map` and then `batch`: in TensorFlow one step for speed, here the two.

    Args:
        map_func: As of :meth:`Dataset.map`.
        batch_size: As of :meth:`Dataset.batch`.
        num_parallel_batches: Another way to give `num_parallel_calls`: as many times `batch_size`, but no more threads
            than AUTOTUNE takes.
        drop_remainder: Whether a short last batch is left out.
        num_parallel_calls: Threads for the function; AUTOTUNE if neither is given.

    Returns:
        What `Dataset.apply` takes.

    Raises:
        BadArgumentError: Both numbers are given.

    Example:
        >>> from stratax.data import Dataset
        >>> from stratax.data.dataset.experimental import map_and_batch
        >>> ds = Dataset.range(5).apply(map_and_batch(lambda x: x + 1, 2))
        >>> [batch.tolist() for batch in ds]
        [[1, 2], [3, 4], [5]]
    """
    if num_parallel_batches is not None and num_parallel_calls is not None:
        raise BadArgumentError(
            "map_and_batch takes num_parallel_batches or num_parallel_calls, not both. Received: "
            f"num_parallel_batches={shown(num_parallel_batches)}, "
            f"num_parallel_calls={shown(num_parallel_calls)}. Leave one out."
        )
    calls = AUTOTUNE if num_parallel_calls is None else num_parallel_calls
    if num_parallel_batches is not None:
        elements = as_count("num_parallel_batches", num_parallel_batches, 1) * as_count(
            "batch_size", batch_size, 1
        )
        calls = min(elements, threads_of(AUTOTUNE))
    return lambda dataset: dataset.map(map_func, calls).batch(batch_size, drop_remainder)


def parallel_interleave(
    map_func: Callable[..., Any],
    cycle_length: int,
    block_length: int = 1,
    sloppy: bool | None = False,
    buffer_output_elements: int | None = None,
    prefetch_input_elements: int | None = None,
) -> Transformation:
    """Apply `interleave` with as many threads as Datasets take turns.

    Args:
        map_func: As of :meth:`Dataset.interleave`.
        cycle_length: How many Datasets take turns.
        block_length: Elements in a turn.
        sloppy: Accepted; the order is always deterministic, which True allows too.
        buffer_output_elements: Ignored; a few elements are read ahead.
        prefetch_input_elements: Ignored; one Dataset more than take turns is opened.

    Returns:
        What `Dataset.apply` takes.
    """
    return lambda dataset: dataset.interleave(map_func, cycle_length, block_length, cycle_length)


def shuffle_and_repeat(buffer_size: int, count: int | None = None, seed: int | None = None) -> Transformation:
    """Apply `shuffle` and then `repeat`: every pass has another order.

    Args:
        buffer_size: As of :meth:`Dataset.shuffle`.
        count: As of :meth:`Dataset.repeat`.
        seed: Fixes the orders.

    Returns:
        What `Dataset.apply` takes.
    """
    return lambda dataset: dataset.shuffle(buffer_size, seed).repeat(count)


def ignore_errors(log_warning: bool = False) -> Transformation:
    """Leave out elements that raise an error, as :meth:`Dataset.ignore_errors`.

    Args:
        log_warning: Whether each error is logged.

    Returns:
        What `Dataset.apply` takes.
    """
    return lambda dataset: dataset.ignore_errors(log_warning)


def unbatch() -> Transformation:
    """Split elements into slices, as :meth:`Dataset.unbatch`.

    Returns:
        What `Dataset.apply` takes.
    """
    return lambda dataset: dataset.unbatch()


def batch_and_drop_remainder(batch_size: int) -> Transformation:
    """Apply `batch` without a short last batch (`tf.contrib.data`).

    Args:
        batch_size: As of :meth:`Dataset.batch`.

    Returns:
        What `Dataset.apply` takes.
    """
    return lambda dataset: dataset.batch(batch_size, drop_remainder=True)


def padded_batch_and_drop_remainder(
    batch_size: int, padded_shapes: object, padding_values: object = None
) -> Transformation:
    """Apply `padded_batch` without a short last batch (`tf.contrib.data`).

    Args:
        batch_size: As of :meth:`Dataset.padded_batch`.
        padded_shapes: As of :meth:`Dataset.padded_batch`.
        padding_values: As of :meth:`Dataset.padded_batch`.

    Returns:
        What `Dataset.apply` takes.
    """
    return lambda dataset: dataset.padded_batch(
        batch_size, padded_shapes, padding_values, drop_remainder=True
    )


def enumerate_dataset(start: int = 0) -> Transformation:
    """Count elements, as :meth:`Dataset.enumerate`.

    Args:
        start: The first number.

    Returns:
        What `Dataset.apply` takes.
    """
    return lambda dataset: dataset.enumerate(start)


def prefetch_to_device(device: str, buffer_size: int | None = None) -> Transformation:
    """`prefetch`; to the devices the strategy brings the elements.

    Args:
        device: Ignored.
        buffer_size: As of :meth:`Dataset.prefetch`; AUTOTUNE if None.

    Returns:
        What `Dataset.apply` takes.
    """
    size = AUTOTUNE if buffer_size is None else buffer_size
    return lambda dataset: _check_devices_take(dataset).prefetch(size)


def _check_devices_take(dataset: Dataset) -> Dataset:
    node = node_of(dataset)
    for spec in node.composites.values() if node.has_known_spec else ():
        if isinstance(spec, DatasetSpec):
            raise BadTypeError(
                "Datasets in elements stay on the host: devices take arrays. Received: a component "
                f"{shown(spec)}. Use prefetch, or flatten the windows first: "
                "ds.flat_map(lambda window: window.batch(n))."
            )
    return dataset


def cardinality(dataset: Dataset) -> Any:
    """Return the number of elements of a Dataset, as `tf.data.experimental.cardinality`: `dataset.cardinality()`."""
    return dataset.cardinality()


def load(
    path: Any, element_spec: Any = None, compression: str | None = None, reader_func: Any = None
) -> Dataset:
    """Read the elements that were saved in a folder, as `tf.data.experimental.load`: `Dataset.load`."""
    return Dataset.load(path, element_spec, compression, reader_func)


def save(
    dataset: Dataset,
    path: Any,
    compression: str | None = None,
    shard_func: Any = None,
    checkpoint_args: Any = None,
) -> None:
    """Write all elements of a Dataset into a folder, as `tf.data.experimental.save`: `dataset.save`."""
    dataset.save(path, compression, shard_func, checkpoint_args)
