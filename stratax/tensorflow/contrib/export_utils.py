"""`tf.contrib.learn.utils.saved_model_export_utils`: what exports a model that is served."""

from stratax.base import doors as _doors

__getattr__, __dir__, __all__ = _doors.attach(__name__, __file__)
