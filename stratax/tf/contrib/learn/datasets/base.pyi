"""`tf.contrib.learn.datasets.base`: arrays with labels (tf layer)."""

import stratax.tensorflow.contrib._datasets
from stratax.tensorflow.contrib._datasets import Datasets as Datasets
from stratax.tensorflow.contrib._datasets import load_csv_with_header as load_csv_with_header
from stratax.tensorflow.contrib._datasets import load_csv_without_header as load_csv_without_header
from stratax.tensorflow.contrib._datasets import maybe_download as maybe_download

Dataset = stratax.tensorflow.contrib._datasets.LabeledArrays
