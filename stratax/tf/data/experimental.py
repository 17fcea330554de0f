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
from stratax.tf._names import missing_name


def cardinality(dataset: Dataset) -> Any:
    """The number of elements of a Dataset, as `tf.data.experimental.cardinality`: `dataset.cardinality()`."""
    return dataset.cardinality()


__all__ = [
    "AUTOTUNE",
    "INFINITE_CARDINALITY",
    "UNKNOWN_CARDINALITY",
    "AutoShardPolicy",
    "AutotuneOptions",
    "CsvDataset",
    "DistributeOptions",
    "cardinality",
]
__getattr__ = missing_name(__name__, __all__)
