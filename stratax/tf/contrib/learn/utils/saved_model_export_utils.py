"""`tf.contrib.learn.utils.saved_model_export_utils`: exports of experiments (tf layer)."""

from stratax.tf import _names

__getattr__, __dir__, __all__ = _names.attach(__name__, __file__)
