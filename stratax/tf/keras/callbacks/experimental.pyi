"""`tf.keras.callbacks.experimental`: what is `tf.keras.callbacks` now (tf layer)."""

from keras.callbacks import BackupAndRestore as BackupAndRestore
