"""Random numbers, as TensorFlow draws them."""
