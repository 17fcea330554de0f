"""`tf.contrib.data`: older forms of what `tf.data` does (tf layer)."""

from stratax.core.regions import Optional as Optional
from stratax.data import AUTOTUNE as AUTOTUNE
from stratax.data import CsvDataset as CsvDataset
from stratax.data import Dataset as Dataset
from stratax.data import FixedLengthRecordDataset as FixedLengthRecordDataset
from stratax.data import OptimizationOptions as OptimizationOptions
from stratax.data import SqlDataset as SqlDataset
from stratax.data import TextLineDataset as TextLineDataset
from stratax.data import TFRecordDataset as TFRecordDataset
from stratax.data import ThreadingOptions as ThreadingOptions
from stratax.data import make_csv_dataset as make_csv_dataset
from stratax.data.dataset.experimental import Counter as Counter
from stratax.data.dataset.experimental import RandomDataset as RandomDataset
from stratax.data.dataset.experimental import Reducer as Reducer
from stratax.data.dataset.experimental import batch_and_drop_remainder as batch_and_drop_remainder
from stratax.data.dataset.experimental import bucket_by_sequence_length as bucket_by_sequence_length
from stratax.data.dataset.experimental import choose_from_datasets as choose_from_datasets
from stratax.data.dataset.experimental import copy_to_device as copy_to_device
from stratax.data.dataset.experimental import dense_to_sparse_batch as dense_to_sparse_batch
from stratax.data.dataset.experimental import enumerate_dataset as enumerate_dataset
from stratax.data.dataset.experimental import get_next_as_optional as get_next_as_optional
from stratax.data.dataset.experimental import get_single_element as get_single_element
from stratax.data.dataset.experimental import group_by_reducer as group_by_reducer
from stratax.data.dataset.experimental import group_by_window as group_by_window
from stratax.data.dataset.experimental import ignore_errors as ignore_errors
from stratax.data.dataset.experimental import map_and_batch as map_and_batch
from stratax.data.dataset.experimental import (
    padded_batch_and_drop_remainder as padded_batch_and_drop_remainder,
)
from stratax.data.dataset.experimental import parallel_interleave as parallel_interleave
from stratax.data.dataset.experimental import prefetch_to_device as prefetch_to_device
from stratax.data.dataset.experimental import rejection_resample as rejection_resample
from stratax.data.dataset.experimental import sample_from_datasets as sample_from_datasets
from stratax.data.dataset.experimental import scan as scan
from stratax.data.dataset.experimental import shuffle_and_repeat as shuffle_and_repeat
from stratax.data.dataset.experimental import take_while as take_while
from stratax.data.dataset.experimental import unbatch as unbatch
from stratax.data.dataset.experimental import unique as unique
from stratax.data.readers.examples import TFRecordWriter as TFRecordWriter
from stratax.data.readers.examples import make_batched_features_dataset as make_batched_features_dataset
from stratax.data.readers.examples import parse_example_dataset as parse_example_dataset
from stratax.tf.data import Iterator as Iterator
