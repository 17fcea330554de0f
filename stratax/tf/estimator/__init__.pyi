"""`tf.estimator`: models that a `model_fn` describes, trained, evaluated and asked for predictions (tf layer)."""

from stratax.estimator import *

from . import experimental as experimental
from . import export as export
from . import inputs as inputs
from . import tpu as tpu

del DistributeConfig
del InMemoryEvaluatorHook
del make_early_stopping_hook
del make_stop_at_checkpoint_step_hook
del stop_if_higher_hook
del stop_if_lower_hook
del stop_if_no_decrease_hook
del stop_if_no_increase_hook
del read_eval_metrics
del Scaffold
del warm_start
del load_global_step_from_checkpoint_dir
del model_to_estimator
