"""The loop of training, evaluation and prediction between dispatches: what `fit` and estimators are built on.

Nothing here knows of Keras' models or of estimators. Names without an underscore in front are for the packages above.
"""

from stratax.base import doors as _doors

__getattr__, __dir__, __all__ = _doors.attach(__name__, __file__)
