import stratax.tensorflow.contrib._learn
import stratax.tensorflow.contrib._learn_estimator
from stratax.tensorflow.estimator import RunConfig as RunConfig

from ._learn import Experiment as Experiment
from ._learn import ExportStrategy as ExportStrategy
from ._learn import make_export_strategy as make_export_strategy
from ._learn_estimator import InputFnOps as InputFnOps
from ._learn_estimator import MetricSpec as MetricSpec
from ._learn_estimator import ModelFnOps as ModelFnOps

Estimator = stratax.tensorflow.contrib._learn_estimator.LearnEstimator
ModeKeys = stratax.tensorflow.contrib._learn.LearnModeKeys
