"""`tf.data` (tf layer)."""

from stratax.core.regions import IteratorSpec as IteratorSpec
from stratax.data import AUTOTUNE as AUTOTUNE
from stratax.data import INFINITE_CARDINALITY as INFINITE_CARDINALITY
from stratax.data import UNKNOWN_CARDINALITY as UNKNOWN_CARDINALITY
from stratax.data import Dataset as Dataset
from stratax.data import DatasetSpec as DatasetSpec
from stratax.data import FixedLengthRecordDataset as FixedLengthRecordDataset
from stratax.data import Options as Options
from stratax.data import TextLineDataset as TextLineDataset
from stratax.data import TFRecordDataset as TFRecordDataset
from stratax.data import ThreadingOptions as ThreadingOptions
from stratax.data import make_initializable_iterator as make_initializable_iterator
from stratax.data import make_one_shot_iterator as make_one_shot_iterator
from stratax.tensorflow.graph._iterators import Iterator as Iterator
from stratax.tensorflow.v1.compat import get_output_classes as get_output_classes
from stratax.tensorflow.v1.compat import get_output_shapes as get_output_shapes
from stratax.tensorflow.v1.compat import get_output_types as get_output_types

from . import experimental as experimental
