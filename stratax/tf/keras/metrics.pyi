"""`tf.keras.metrics`: Keras' metrics, and the names of Keras 2 (tf layer)."""

import keras.losses
from keras.metrics import *

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
