"""`tf.data.experimental` (tf layer)."""

from typing import Any

from stratax.data import AUTOTUNE as AUTOTUNE
from stratax.data import INFINITE_CARDINALITY as INFINITE_CARDINALITY
from stratax.data import UNKNOWN_CARDINALITY as UNKNOWN_CARDINALITY
from stratax.data import AutoShardPolicy as AutoShardPolicy
from stratax.data import AutotuneOptions as AutotuneOptions
from stratax.data import CsvDataset as CsvDataset
from stratax.data import Dataset
from stratax.data import DistributeOptions as DistributeOptions
from stratax.data import ExternalStatePolicy as ExternalStatePolicy
from stratax.data import OptimizationOptions as OptimizationOptions
from stratax.data import ThreadingOptions as ThreadingOptions
from stratax.data import make_csv_dataset as make_csv_dataset
from stratax.data.dataset.experimental import enumerate_dataset as enumerate_dataset
from stratax.data.dataset.experimental import ignore_errors as ignore_errors
from stratax.data.dataset.experimental import map_and_batch as map_and_batch
from stratax.data.dataset.experimental import parallel_interleave as parallel_interleave
from stratax.data.dataset.experimental import prefetch_to_device as prefetch_to_device
from stratax.data.dataset.experimental import shuffle_and_repeat as shuffle_and_repeat
from stratax.data.dataset.experimental import unbatch as unbatch
from stratax.tf._names import missing_name


def cardinality(dataset: Dataset) -> Any:
    """The number of elements of a Dataset, as `tf.data.experimental.cardinality`: `dataset.cardinality()`."""
    return dataset.cardinality()


def load(
    path: Any, element_spec: Any = None, compression: str | None = None, reader_func: Any = None
) -> Dataset:
    """The elements that were saved in a folder, as `tf.data.experimental.load`: `Dataset.load`."""
    return Dataset.load(path, element_spec, compression, reader_func)


def save(
    dataset: Dataset,
    path: Any,
    compression: str | None = None,
    shard_func: Any = None,
    checkpoint_args: Any = None,
) -> None:
    """Writes all elements of a Dataset into a folder, as `tf.data.experimental.save`: `dataset.save`."""
    dataset.save(path, compression, shard_func, checkpoint_args)


__all__ = [
    "AUTOTUNE",
    "INFINITE_CARDINALITY",
    "UNKNOWN_CARDINALITY",
    "AutoShardPolicy",
    "AutotuneOptions",
    "CsvDataset",
    "DistributeOptions",
    "ExternalStatePolicy",
    "OptimizationOptions",
    "ThreadingOptions",
    "cardinality",
    "enumerate_dataset",
    "ignore_errors",
    "load",
    "make_csv_dataset",
    "map_and_batch",
    "parallel_interleave",
    "prefetch_to_device",
    "save",
    "shuffle_and_repeat",
    "unbatch",
]
__getattr__ = missing_name(__name__, __all__)
