"""What has to be set up before JAX and Keras start: backend, allocator, flags."""
