"""`tf.contrib.learn`: experiments of Estimators (tf layer)."""

import stratax.tensorflow.contrib._learn
import stratax.tensorflow.contrib._learn_estimator
from stratax.tensorflow.contrib._learn import Experiment as Experiment
from stratax.tensorflow.contrib._learn import ExportStrategy as ExportStrategy
from stratax.tensorflow.contrib._learn import make_export_strategy as make_export_strategy
from stratax.tensorflow.contrib._learn_estimator import InputFnOps as InputFnOps
from stratax.tensorflow.contrib._learn_estimator import MetricSpec as MetricSpec
from stratax.tensorflow.contrib._learn_estimator import ModelFnOps as ModelFnOps
from stratax.tensorflow.estimator import RunConfig as RunConfig

from . import datasets as datasets
from . import io as io
from . import learn_runner as learn_runner
from . import preprocessing as preprocessing
from . import utils as utils

Estimator = stratax.tensorflow.contrib._learn_estimator.LearnEstimator
ModeKeys = stratax.tensorflow.contrib._learn.LearnModeKeys
