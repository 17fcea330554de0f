"""`tf.keras`: Keras 3, and what TensorFlow 2.15 has there besides (tf layer)."""

from keras import *

from stratax.tensorflow.keras2.layers import Input as Input

from . import backend as backend
from . import callbacks as callbacks
from . import estimator as estimator
from . import experimental as experimental
from . import layers as layers
from . import losses as losses
from . import metrics as metrics
from . import mixed_precision as mixed_precision
from . import models as models
from . import optimizers as optimizers
from . import preprocessing as preprocessing
from . import utils as utils
