"""Older forms of operations, for `Dataset.apply`: `tf.data.experimental` and `tf.contrib.data` (data layer)."""

from collections.abc import Callable
from typing import Any

from stratax._shown import shown
from stratax.data.dataset._dataset import Dataset
from stratax.data.elements import AUTOTUNE
from stratax.data.plan import as_count, threads_of
from stratax.errors import BadArgumentError

Transformation = Callable[[Dataset], Dataset]


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
    return lambda dataset: dataset.prefetch(AUTOTUNE if buffer_size is None else buffer_size)


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
