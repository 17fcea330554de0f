"""`tf.estimator.experimental`: early stopping, and evaluation while training (tf layer)."""

from stratax.estimator import InMemoryEvaluatorHook as InMemoryEvaluatorHook
from stratax.estimator import KMeans as KMeans
from stratax.estimator import LinearSDCA as LinearSDCA
from stratax.estimator import RNNClassifier as RNNClassifier
from stratax.estimator import RNNEstimator as RNNEstimator
from stratax.estimator import (
    build_raw_supervised_input_receiver_fn as build_raw_supervised_input_receiver_fn,
)
from stratax.estimator import call_logit_fn as call_logit_fn
from stratax.estimator import make_early_stopping_hook as make_early_stopping_hook
from stratax.estimator import make_stop_at_checkpoint_step_hook as make_stop_at_checkpoint_step_hook
from stratax.estimator import stop_if_higher_hook as stop_if_higher_hook
from stratax.estimator import stop_if_lower_hook as stop_if_lower_hook
from stratax.estimator import stop_if_no_decrease_hook as stop_if_no_decrease_hook
from stratax.estimator import stop_if_no_increase_hook as stop_if_no_increase_hook
