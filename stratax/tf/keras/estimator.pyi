"""`tf.keras.estimator`: Keras models as Estimators (tf layer)."""

from stratax.estimator import model_to_estimator as model_to_estimator
