"""`tf.python_io`: TFRecord files, under TensorFlow 1's names (tf layer)."""

from stratax.data import TFRecordCompressionType as TFRecordCompressionType
from stratax.data import TFRecordOptions as TFRecordOptions
from stratax.data import tf_record_iterator as tf_record_iterator
from stratax.tensorflow.v1.record_writers import TFRecordWriter as TFRecordWriter
