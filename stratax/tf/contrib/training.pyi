"""`tf.contrib.training`: settings, and steps of training (tf layer)."""

from stratax.checkpoint import checkpoints_iterator as checkpoints_iterator
from stratax.tensorflow.contrib._checkpoints import wait_for_new_checkpoint as wait_for_new_checkpoint
from stratax.tensorflow.contrib._device_choices import (
    GreedyLoadBalancingStrategy as GreedyLoadBalancingStrategy,
)
from stratax.tensorflow.contrib._device_choices import RandomStrategy as RandomStrategy
from stratax.tensorflow.contrib._device_choices import byte_size_load_fn as byte_size_load_fn
from stratax.tensorflow.contrib._hparams import HParams as HParams
from stratax.tensorflow.contrib._hparams import parse_values as parse_values
from stratax.tensorflow.contrib._optimize_loss import add_gradients_summaries as add_gradients_summaries
from stratax.tensorflow.contrib._optimize_loss import clip_gradient_norms as clip_gradient_norms
from stratax.tensorflow.contrib._optimize_loss import clip_gradient_norms_fn as clip_gradient_norms_fn
from stratax.tensorflow.contrib._optimize_loss import multiply_gradients as multiply_gradients
from stratax.tensorflow.contrib._train_op import create_train_op as create_train_op
