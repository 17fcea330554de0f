"""What serves programs of TensorFlow alone; the core does not know it (tensorflow layer)."""
