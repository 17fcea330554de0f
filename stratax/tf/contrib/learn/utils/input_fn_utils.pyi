"""`tf.contrib.learn.utils.input_fn_utils`: what a served model is fed (tf layer)."""

from stratax.tensorflow.contrib._learn_estimator import InputFnOps as InputFnOps
