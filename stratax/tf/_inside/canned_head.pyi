"""What programs import of `tensorflow.python.estimator.canned.head` (tf layer)."""

import stratax.tensorflow.estimator.heads._canned
from stratax.tensorflow.estimator.heads import MetricKeys as MetricKeys
from stratax.tensorflow.estimator.heads import PredictionKeys as PredictionKeys
from stratax.tensorflow.estimator.heads._canned import LossSpec as LossSpec

_BinaryLogisticHeadWithSigmoidCrossEntropyLoss = stratax.tensorflow.estimator.heads._canned.BinaryLogisticHead
_CLASSIFY_SERVING_KEY = stratax.tensorflow.estimator.heads._canned.CLASSIFY_SERVING_KEY
_DEFAULT_SERVING_KEY = stratax.tensorflow.estimator.heads._canned.DEFAULT_SERVING_KEY
_Head = stratax.tensorflow.estimator.heads._canned.CannedHead
_MultiClassHeadWithSoftmaxCrossEntropyLoss = stratax.tensorflow.estimator.heads._canned.MultiClassSoftmaxHead
_PREDICT_SERVING_KEY = stratax.tensorflow.estimator.heads._canned.PREDICT_SERVING_KEY
_REGRESS_SERVING_KEY = stratax.tensorflow.estimator.heads._canned.REGRESS_SERVING_KEY
_RegressionHeadWithMeanSquaredErrorLoss = stratax.tensorflow.estimator.heads._canned.MeanSquaredErrorHead
_all_class_ids = stratax.tensorflow.estimator.heads._canned.list_class_ids
_all_classes = stratax.tensorflow.estimator.heads._canned.list_classes
_append_update_ops = stratax.tensorflow.estimator.heads._train_op.add_updates
_binary_logistic_head_with_sigmoid_cross_entropy_loss = (
    stratax.tensorflow.estimator.heads._canned.BinaryLogisticHead
)
_binary_logistic_or_multi_class_head = stratax.tensorflow.estimator.heads._canned.make_classifier_head
_check_logits_final_dim = stratax.tensorflow.estimator.heads._checks.check_logits
_classification_output = stratax.tensorflow.estimator.heads._canned.make_classification
_create_eval_metrics_tuple = stratax.tensorflow.estimator.heads._canned.make_eval_metrics
_multi_class_head_with_softmax_cross_entropy_loss = (
    stratax.tensorflow.estimator.heads._canned.MultiClassSoftmaxHead
)
_regression_head = stratax.tensorflow.estimator.heads._canned.make_regression_head
_summary_key = stratax.tensorflow.estimator.heads._canned.add_name
_validate_loss_fn_args = stratax.tensorflow.estimator.heads._checks.check_loss_fn
