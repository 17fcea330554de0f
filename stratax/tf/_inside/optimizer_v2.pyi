"""What programs import of `tensorflow.python.keras.optimizer_v2` (tf layer)."""

from keras.optimizers import SGD as SGD
from keras.optimizers import Adadelta as Adadelta
from keras.optimizers import Adagrad as Adagrad
from keras.optimizers import Adam as Adam
from keras.optimizers import Adamax as Adamax
from keras.optimizers import Ftrl as Ftrl

from stratax.tensorflow.keras2.optimizer_v2 import OptimizerV2 as OptimizerV2
from stratax.tensorflow.keras2.optimizers import Nadam as Nadam
from stratax.tensorflow.keras2.optimizers import RMSprop as RMSprop
