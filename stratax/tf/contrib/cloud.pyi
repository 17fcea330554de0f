"""`tf.contrib.cloud`: tables and files of Google's, which are refused (tf layer)."""

from stratax.tensorflow.contrib._refused import BigtableClient as BigtableClient
from stratax.tensorflow.contrib._refused import configure_gcs as configure_gcs
