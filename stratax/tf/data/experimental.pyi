"""`tf.data.experimental` (tf layer)."""

import stratax.data.dataset.experimental
from stratax.data import AUTOTUNE as AUTOTUNE
from stratax.data import INFINITE_CARDINALITY as INFINITE_CARDINALITY
from stratax.data import UNKNOWN_CARDINALITY as UNKNOWN_CARDINALITY
from stratax.data import AutoShardPolicy as AutoShardPolicy
from stratax.data import AutotuneOptions as AutotuneOptions
from stratax.data import CsvDataset as CsvDataset
from stratax.data import DistributeOptions as DistributeOptions
from stratax.data import ExternalStatePolicy as ExternalStatePolicy
from stratax.data import OptimizationOptions as OptimizationOptions
from stratax.data import SqlDataset as SqlDataset
from stratax.data import ThreadingOptions as ThreadingOptions
from stratax.data import make_csv_dataset as make_csv_dataset
from stratax.data.dataset.experimental import Counter as Counter
from stratax.data.dataset.experimental import RandomDataset as RandomDataset
from stratax.data.dataset.experimental import Reducer as Reducer
from stratax.data.dataset.experimental import assert_cardinality as assert_cardinality
from stratax.data.dataset.experimental import at as at
from stratax.data.dataset.experimental import bucket_by_sequence_length as bucket_by_sequence_length
from stratax.data.dataset.experimental import cardinality as cardinality
from stratax.data.dataset.experimental import choose_from_datasets as choose_from_datasets
from stratax.data.dataset.experimental import copy_to_device as copy_to_device
from stratax.data.dataset.experimental import dense_to_ragged_batch as dense_to_ragged_batch
from stratax.data.dataset.experimental import dense_to_sparse_batch as dense_to_sparse_batch
from stratax.data.dataset.experimental import enumerate_dataset as enumerate_dataset
from stratax.data.dataset.experimental import from_list as from_list
from stratax.data.dataset.experimental import get_next_as_optional as get_next_as_optional
from stratax.data.dataset.experimental import get_single_element as get_single_element
from stratax.data.dataset.experimental import get_structure as get_structure
from stratax.data.dataset.experimental import group_by_reducer as group_by_reducer
from stratax.data.dataset.experimental import group_by_window as group_by_window
from stratax.data.dataset.experimental import ignore_errors as ignore_errors
from stratax.data.dataset.experimental import load as load
from stratax.data.dataset.experimental import map_and_batch as map_and_batch
from stratax.data.dataset.experimental import pad_to_cardinality as pad_to_cardinality
from stratax.data.dataset.experimental import parallel_interleave as parallel_interleave
from stratax.data.dataset.experimental import prefetch_to_device as prefetch_to_device
from stratax.data.dataset.experimental import rejection_resample as rejection_resample
from stratax.data.dataset.experimental import sample_from_datasets as sample_from_datasets
from stratax.data.dataset.experimental import save as save
from stratax.data.dataset.experimental import scan as scan
from stratax.data.dataset.experimental import shuffle_and_repeat as shuffle_and_repeat
from stratax.data.dataset.experimental import take_while as take_while
from stratax.data.dataset.experimental import unbatch as unbatch
from stratax.data.dataset.experimental import unique as unique
from stratax.data.readers.examples import TFRecordWriter as TFRecordWriter
from stratax.data.readers.examples import make_batched_features_dataset as make_batched_features_dataset
from stratax.data.readers.examples import parse_example_dataset as parse_example_dataset
from stratax.tensorflow.ops.tables.dataset_tables import DatasetInitializer as DatasetInitializer
from stratax.tensorflow.ops.tables.dataset_tables import index_table_from_dataset as index_table_from_dataset
from stratax.tensorflow.ops.tables.dataset_tables import table_from_dataset as table_from_dataset

map_and_batch_with_legacy_function = stratax.data.dataset.experimental.map_and_batch
