"""Input pipelines with tf.data's names and meaning, on NumPy (data layer)."""

from stratax.data._dataset import Dataset
from stratax.data._iterator import DatasetIterator
from stratax.data._options import (
    AutoShardPolicy,
    AutotuneOptions,
    DistributeOptions,
    Options,
    ThreadingOptions,
)
from stratax.data._spec import (
    AUTOTUNE,
    INFINITE_CARDINALITY,
    UNKNOWN_CARDINALITY,
    DatasetSpec,
    TensorSpec,
)

__all__ = [
    "AUTOTUNE",
    "INFINITE_CARDINALITY",
    "UNKNOWN_CARDINALITY",
    "AutoShardPolicy",
    "AutotuneOptions",
    "Dataset",
    "DatasetIterator",
    "DatasetSpec",
    "DistributeOptions",
    "Options",
    "TensorSpec",
    "ThreadingOptions",
]
