from keras.callbacks import BackupAndRestore as BackupAndRestore
