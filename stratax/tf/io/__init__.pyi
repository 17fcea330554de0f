"""`tf.io` (tf layer)."""

from stratax.data import FixedLenFeature as FixedLenFeature
from stratax.data import FixedLenSequenceFeature as FixedLenSequenceFeature
from stratax.data import RaggedFeature as RaggedFeature
from stratax.data import SparseFeature as SparseFeature
from stratax.data import TFRecordOptions as TFRecordOptions
from stratax.data import VarLenFeature as VarLenFeature
from stratax.data import decode_csv as decode_csv
from stratax.data import decode_json_example as decode_json_example
from stratax.data import decode_raw as decode_raw
from stratax.data import parse_example as parse_example
from stratax.data import parse_sequence_example as parse_sequence_example
from stratax.data import parse_single_example as parse_single_example
from stratax.data import parse_single_sequence_example as parse_single_sequence_example
from stratax.data import parse_tensor as parse_tensor
from stratax.data import serialize_tensor as serialize_tensor
from stratax.image import decode_and_crop_jpeg as decode_and_crop_jpeg
from stratax.image import decode_bmp as decode_bmp
from stratax.image import decode_gif as decode_gif
from stratax.image import decode_image as decode_image
from stratax.image import decode_jpeg as decode_jpeg
from stratax.image import decode_png as decode_png
from stratax.image import decode_webp as decode_webp
from stratax.image import encode_jpeg as encode_jpeg
from stratax.image import encode_png as encode_png
from stratax.image import extract_jpeg_shape as extract_jpeg_shape
from stratax.image import is_jpeg as is_jpeg
from stratax.io.gfile import write_file as write_file
from stratax.tensorflow.graph._graph_def import write_graph as write_graph
from stratax.tensorflow.ops.control.whole_files import matching_files as matching_files
from stratax.tensorflow.ops.control.whole_files import read_file as read_file
from stratax.tensorflow.ops.text.encodings import decode_base64 as decode_base64
from stratax.tensorflow.ops.text.encodings import decode_compressed as decode_compressed
from stratax.tensorflow.ops.text.encodings import encode_base64 as encode_base64
from stratax.tensorflow.v1.record_writers import TFRecordWriter as TFRecordWriter

from . import gfile as gfile
