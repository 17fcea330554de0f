"""`tf.contrib.predictor`: functions that compute what an export serves (tf layer)."""

from stratax.tensorflow.contrib._predictor import SavedModelPredictor as SavedModelPredictor
from stratax.tensorflow.contrib._predictor import from_estimator as from_estimator
from stratax.tensorflow.contrib._predictor import from_saved_model as from_saved_model
