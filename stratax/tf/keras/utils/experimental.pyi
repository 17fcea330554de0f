"""`tf.keras.utils.experimental`: Keras' helpers (tf layer)."""

from stratax.keras import DatasetCreator as DatasetCreator
