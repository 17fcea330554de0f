"""SavedModels and graphs that TensorFlow wrote: read, called, trained and served (saved_models layer)."""
