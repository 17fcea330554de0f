"""`tf.keras.layers.experimental`: what is `tf.keras.layers` now (tf layer)."""

from keras.layers import EinsumDense as EinsumDense

from stratax.tensorflow.keras2.layers import SyncBatchNormalization as SyncBatchNormalization

from . import preprocessing as preprocessing
