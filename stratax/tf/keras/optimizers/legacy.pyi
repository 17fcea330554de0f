"""`tf.keras.optimizers.legacy`: Keras' optimizers, which take Keras 2's arguments (tf layer)."""

from keras.optimizers import SGD as SGD
from keras.optimizers import Adadelta as Adadelta
from keras.optimizers import Adagrad as Adagrad
from keras.optimizers import Adam as Adam
from keras.optimizers import Adamax as Adamax
from keras.optimizers import Ftrl as Ftrl
from keras.optimizers import Optimizer as Optimizer

from stratax.tensorflow.keras2.optimizers import Nadam as Nadam
from stratax.tensorflow.keras2.optimizers import RMSprop as RMSprop
