"""`tf.contrib.slim.learning`: steps of training (tf layer)."""

import stratax.tensorflow.contrib._train_op
from stratax.tensorflow.contrib._optimize_loss import add_gradients_summaries as add_gradients_summaries
from stratax.tensorflow.contrib._optimize_loss import clip_gradient_norms as clip_gradient_norms
from stratax.tensorflow.contrib._optimize_loss import multiply_gradients as multiply_gradients

create_train_op = stratax.tensorflow.contrib._train_op.create_slim_train_op
