"""`tf.train`: the messages of Examples, clusters, and checkpoints (tf layer)."""

from stratax.tf import _names

__getattr__, __dir__, __all__ = _names.attach(__name__, __file__)
