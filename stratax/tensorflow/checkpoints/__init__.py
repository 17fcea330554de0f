"""TensorFlow's checkpoints: read, matched with objects, converted (tensorflow layer)."""
