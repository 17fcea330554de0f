"""Images: decoding, resizing, cropping, colors and random changes, under `tf.image`'s names (image layer).

Every operation takes NumPy arrays, in a pipeline, and JAX arrays, in a model, and answers with the same kind.
"""

from stratax.base import doors as _doors

__getattr__, __dir__, __all__ = _doors.attach(__name__, __file__)
