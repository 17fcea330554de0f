"""Where Keras on JAX asks for a strategy: gradients that are applied or accumulated, losses that are averaged."""
