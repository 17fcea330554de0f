"""`tf.contrib.estimator`: what TensorFlow 1 had there and TensorFlow 2 has elsewhere, or not at all (tf layer)."""

from stratax.estimator import InMemoryEvaluatorHook as InMemoryEvaluatorHook
from stratax.estimator import RNNClassifier as RNNClassifier
from stratax.estimator import RNNEstimator as RNNEstimator
from stratax.estimator import add_metrics as add_metrics
from stratax.estimator import call_logit_fn as call_logit_fn
from stratax.estimator import make_early_stopping_hook as make_early_stopping_hook
from stratax.estimator import make_stop_at_checkpoint_step_hook as make_stop_at_checkpoint_step_hook
from stratax.estimator import read_eval_metrics as read_eval_metrics
from stratax.estimator import stop_if_higher_hook as stop_if_higher_hook
from stratax.estimator import stop_if_lower_hook as stop_if_lower_hook
from stratax.estimator import stop_if_no_decrease_hook as stop_if_no_decrease_hook
from stratax.estimator import stop_if_no_increase_hook as stop_if_no_increase_hook
from stratax.tensorflow.contrib._estimator import TowerOptimizer as TowerOptimizer
from stratax.tensorflow.contrib._estimator import clip_gradients_by_norm as clip_gradients_by_norm
from stratax.tensorflow.contrib._estimator import forward_features as forward_features
from stratax.tensorflow.contrib._estimator import replicate_model_fn as replicate_model_fn
from stratax.tensorflow.estimator.canned.v1 import DNNEstimator as DNNEstimator
from stratax.tensorflow.estimator.canned.v1 import DNNLinearCombinedEstimator as DNNLinearCombinedEstimator
from stratax.tensorflow.estimator.canned.v1 import LinearEstimator as LinearEstimator
from stratax.tensorflow.estimator.heads import binary_classification_head as binary_classification_head
from stratax.tensorflow.estimator.heads import logistic_regression_head as logistic_regression_head
from stratax.tensorflow.estimator.heads import multi_class_head as multi_class_head
from stratax.tensorflow.estimator.heads import multi_head as multi_head
from stratax.tensorflow.estimator.heads import multi_label_head as multi_label_head
from stratax.tensorflow.estimator.heads import poisson_regression_head as poisson_regression_head
from stratax.tensorflow.estimator.heads import regression_head as regression_head
