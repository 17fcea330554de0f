"""`tf.contrib.learn.utils.input_fn_utils`: what a served model is fed."""

from stratax.base import doors as _doors

__getattr__, __dir__, __all__ = _doors.attach(__name__, __file__)
