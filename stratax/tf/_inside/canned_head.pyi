from stratax.tensorflow.estimator.heads import MetricKeys as MetricKeys
from stratax.tensorflow.estimator.heads import PredictionKeys as PredictionKeys

from ._head import _Head as _Head
