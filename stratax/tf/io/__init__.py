"""`tf.io` (tf layer)."""

from stratax.data import FixedLenFeature as FixedLenFeature
from stratax.data import FixedLenSequenceFeature as FixedLenSequenceFeature
from stratax.data import TFRecordOptions as TFRecordOptions
from stratax.data import TFRecordWriter as TFRecordWriter
from stratax.data import VarLenFeature as VarLenFeature
from stratax.data import decode_csv as decode_csv
from stratax.data import decode_raw as decode_raw
from stratax.data import parse_example as parse_example
from stratax.data import parse_sequence_example as parse_sequence_example
from stratax.data import parse_single_example as parse_single_example
from stratax.data import parse_single_sequence_example as parse_single_sequence_example
from stratax.data import parse_tensor as parse_tensor
from stratax.data import serialize_tensor as serialize_tensor
from stratax.tf._names import missing_name
from stratax.tf.io import gfile as gfile

__all__ = [
    "FixedLenFeature",
    "FixedLenSequenceFeature",
    "TFRecordOptions",
    "TFRecordWriter",
    "VarLenFeature",
    "decode_csv",
    "decode_raw",
    "gfile",
    "parse_example",
    "parse_sequence_example",
    "parse_single_example",
    "parse_single_sequence_example",
    "parse_tensor",
    "serialize_tensor",
]
__getattr__ = missing_name(__name__, __all__)
