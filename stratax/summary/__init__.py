"""Summaries for TensorBoard: numbers, distributions, images, text and sound, without TensorFlow.

Layer: beside `stratax.checkpoint`. Keras' TensorBoard callback writes through it where TensorFlow is not installed.
"""

from stratax.base import doors as _doors

__getattr__, __dir__, __all__ = _doors.attach(__name__, __file__)
