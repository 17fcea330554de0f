"""What programs of TensorFlow 1 use of `tf.contrib`: layers, argument scopes, cells, and what trains with them."""
