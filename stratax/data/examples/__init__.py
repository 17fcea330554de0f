"""Parse `tf.train.Example` and what else a record may hold."""
