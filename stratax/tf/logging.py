"""`tf.logging`: messages (tf layer)."""

from stratax.tf import _names

__getattr__, __dir__, __all__ = _names.attach(__name__, __file__)

# Programs look a level up in `tf.logging.__dict__`, which asks no door.
globals().update({name: __getattr__(name) for name in __all__})
