import stratax.tensorflow.contrib._learn
from stratax.tensorflow.estimator import RunConfig as RunConfig

from ._learn import Experiment as Experiment
from ._learn import ExportStrategy as ExportStrategy
from ._learn import make_export_strategy as make_export_strategy

ModeKeys = stratax.tensorflow.contrib._learn.LearnModeKeys
