"""`tf.keras.utils`: Keras' helpers (tf layer)."""

from keras.utils import *

from stratax.tensorflow.keras2.evaluating import SidecarEvaluator as SidecarEvaluator
from stratax.tensorflow.keras2.layers import multi_gpu_model as multi_gpu_model
from stratax.tensorflow.keras2.layers import to_ordinal as to_ordinal

from . import experimental as experimental
