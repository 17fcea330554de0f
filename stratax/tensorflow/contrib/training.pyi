from stratax.checkpoint import checkpoints_iterator as checkpoints_iterator

from ._checkpoints import wait_for_new_checkpoint as wait_for_new_checkpoint
from ._device_choices import GreedyLoadBalancingStrategy as GreedyLoadBalancingStrategy
from ._device_choices import RandomStrategy as RandomStrategy
from ._device_choices import byte_size_load_fn as byte_size_load_fn
from ._hparams import HParams as HParams
from ._hparams import parse_values as parse_values
from ._optimize_loss import add_gradients_summaries as add_gradients_summaries
from ._optimize_loss import clip_gradient_norms as clip_gradient_norms
from ._optimize_loss import clip_gradient_norms_fn as clip_gradient_norms_fn
from ._optimize_loss import multiply_gradients as multiply_gradients
from ._train_op import create_train_op as create_train_op
