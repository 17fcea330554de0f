"""`tf.contrib.slim.parallel_reader`: the files that patterns name (tf layer)."""

from stratax.tensorflow.contrib._parallel_reader import get_data_files as get_data_files
