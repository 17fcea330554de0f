"""`tf.contrib.keras.api`: where `tf.contrib.keras` says its names are made (tf layer)."""

from stratax.tf import keras as keras
