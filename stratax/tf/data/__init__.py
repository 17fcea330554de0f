"""`tf.data` (tf layer)."""

from stratax.data import AUTOTUNE as AUTOTUNE
from stratax.data import INFINITE_CARDINALITY as INFINITE_CARDINALITY
from stratax.data import UNKNOWN_CARDINALITY as UNKNOWN_CARDINALITY
from stratax.data import Dataset as Dataset
from stratax.data import DatasetIterator as Iterator
from stratax.data import DatasetSpec as DatasetSpec
from stratax.data import FixedLengthRecordDataset as FixedLengthRecordDataset
from stratax.data import Options as Options
from stratax.data import TextLineDataset as TextLineDataset
from stratax.data import TFRecordDataset as TFRecordDataset
from stratax.data import ThreadingOptions as ThreadingOptions
from stratax.tf._names import missing_name
from stratax.tf.data import experimental as experimental

__all__ = [
    "AUTOTUNE",
    "INFINITE_CARDINALITY",
    "UNKNOWN_CARDINALITY",
    "Dataset",
    "DatasetSpec",
    "FixedLengthRecordDataset",
    "Iterator",
    "Options",
    "TFRecordDataset",
    "TextLineDataset",
    "ThreadingOptions",
    "experimental",
]
__getattr__ = missing_name(__name__, __all__)
