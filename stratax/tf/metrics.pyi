"""`tf.metrics`: TensorFlow 1's functions, and the names of `tf.keras.metrics` (tf layer)."""

import keras.losses
from keras.metrics import *

import stratax.tensorflow.v1.either
from stratax.tensorflow.v1.metrics import *

del mean_absolute_error
del mean_squared_error
KLD = keras.losses.kl_divergence
MAE = keras.losses.mean_absolute_error
MAPE = keras.losses.mean_absolute_percentage_error
MSE = keras.losses.mean_squared_error
MSLE = keras.losses.mean_squared_logarithmic_error
kld = keras.losses.kl_divergence
kullback_leibler_divergence = keras.losses.kl_divergence
logcosh = keras.losses.log_cosh
mae = keras.losses.mean_absolute_error
mape = keras.losses.mean_absolute_percentage_error
mse = keras.losses.mean_squared_error
msle = keras.losses.mean_squared_logarithmic_error
mean_absolute_error = stratax.tensorflow.v1.either.mean_absolute_error_metric
mean_squared_error = stratax.tensorflow.v1.either.mean_squared_error_metric
