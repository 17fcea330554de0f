"""`tf.contrib.eager.metrics`: means that are called with batches (tf layer)."""

from stratax.tensorflow.contrib._eager_metrics import Accuracy as Accuracy
from stratax.tensorflow.contrib._eager_metrics import BinaryAccuracy as BinaryAccuracy
from stratax.tensorflow.contrib._eager_metrics import CategoricalAccuracy as CategoricalAccuracy
from stratax.tensorflow.contrib._eager_metrics import Mean as Mean
from stratax.tensorflow.contrib._eager_metrics import SparseAccuracy as SparseAccuracy
