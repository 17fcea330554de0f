"""What programs import of `tensorflow.python.estimator.canned.head` (tf layer)."""

from stratax.tensorflow.estimator.heads import MetricKeys as MetricKeys
from stratax.tensorflow.estimator.heads import PredictionKeys as PredictionKeys

from ._head import _Head as _Head
