"""`tf.compat.v1.nn`: losses and non-linearities with TensorFlow 1's arguments (tf layer)."""

from stratax.tf.nn import *

del conv2d
del conv1d
del conv2d_transpose
del conv3d
del crelu
del ctc_loss
del depthwise_conv2d
del separable_conv2d
del weighted_cross_entropy_with_logits
del embedding_lookup
del in_top_k
del l2_normalize
del moments
del xw_plus_b
del rnn_cell
del bidirectional_dynamic_rnn
del dynamic_rnn
del static_bidirectional_rnn
del static_rnn
del avg_pool
del max_pool
del fractional_avg_pool
del fractional_max_pool
del dropout
del log_softmax
del softmax
del softmax_cross_entropy_with_logits
del softmax_cross_entropy_with_logits_v2
from stratax.tensorflow.v1.nn import *  # type: ignore[assignment] # noqa: E402
