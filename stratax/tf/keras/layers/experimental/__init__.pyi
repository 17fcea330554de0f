from keras.layers import EinsumDense as EinsumDense

from stratax.keras2.layers import SyncBatchNormalization as SyncBatchNormalization

from . import preprocessing as preprocessing
