from stratax.data import AUTOTUNE as AUTOTUNE
from stratax.data import CsvDataset as CsvDataset
from stratax.data import Dataset as Dataset
from stratax.data import FixedLengthRecordDataset as FixedLengthRecordDataset
from stratax.data import TextLineDataset as TextLineDataset
from stratax.data import TFRecordDataset as TFRecordDataset
from stratax.data import make_csv_dataset as make_csv_dataset
from stratax.data.dataset.experimental import batch_and_drop_remainder as batch_and_drop_remainder
from stratax.data.dataset.experimental import enumerate_dataset as enumerate_dataset
from stratax.data.dataset.experimental import ignore_errors as ignore_errors
from stratax.data.dataset.experimental import map_and_batch as map_and_batch
from stratax.data.dataset.experimental import (
    padded_batch_and_drop_remainder as padded_batch_and_drop_remainder,
)
from stratax.data.dataset.experimental import parallel_interleave as parallel_interleave
from stratax.data.dataset.experimental import prefetch_to_device as prefetch_to_device
from stratax.data.dataset.experimental import shuffle_and_repeat as shuffle_and_repeat
from stratax.data.dataset.experimental import unbatch as unbatch
