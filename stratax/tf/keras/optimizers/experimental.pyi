"""`tf.keras.optimizers.experimental`: what is `tf.keras.optimizers` now (tf layer)."""

from keras.optimizers import SGD as SGD
from keras.optimizers import Adadelta as Adadelta
from keras.optimizers import Adafactor as Adafactor
from keras.optimizers import Adagrad as Adagrad
from keras.optimizers import Adam as Adam
from keras.optimizers import Adamax as Adamax
from keras.optimizers import AdamW as AdamW
from keras.optimizers import Ftrl as Ftrl
from keras.optimizers import Lion as Lion
from keras.optimizers import Nadam as Nadam
from keras.optimizers import Optimizer as Optimizer
from keras.optimizers import RMSprop as RMSprop
