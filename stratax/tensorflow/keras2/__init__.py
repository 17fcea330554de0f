"""What programs for Keras 2 write and Keras 3 does not have, for `stratax.tf.keras` (layer between tf and estimator).

Functions of `tf.keras.backend`, text layers without TensorFlow, old names of arguments and methods. Nothing here
changes what a program for Keras 3 means.
"""

from stratax.base import doors as _doors

__getattr__, __dir__, __all__ = _doors.attach(__name__, __file__)
