"""What an Estimator exports: what it takes, what it gives, and when (`tf.estimator.export`)."""

from stratax.base import doors as _doors

__getattr__, __dir__, __all__ = _doors.attach(__name__, __file__)
