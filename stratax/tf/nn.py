"""`tf.nn`: non-linearities, losses and the averages of a distributed loop (tf layer)."""

from stratax.distribute import compute_average_loss as compute_average_loss
from stratax.distribute import scale_regularization_loss as scale_regularization_loss
from stratax.tf._arrays import top_k as top_k
from stratax.tf._elementwise import sigmoid as sigmoid
from stratax.tf._elementwise import tanh as tanh
from stratax.tf._losses import dropout as dropout
from stratax.tf._losses import elu as elu
from stratax.tf._losses import gelu as gelu
from stratax.tf._losses import l2_loss as l2_loss
from stratax.tf._losses import leaky_relu as leaky_relu
from stratax.tf._losses import log_softmax as log_softmax
from stratax.tf._losses import relu as relu
from stratax.tf._losses import relu6 as relu6
from stratax.tf._losses import sigmoid_cross_entropy_with_logits as sigmoid_cross_entropy_with_logits
from stratax.tf._losses import silu as silu
from stratax.tf._losses import silu as swish
from stratax.tf._losses import softmax as softmax
from stratax.tf._losses import softmax_cross_entropy_with_logits as softmax_cross_entropy_with_logits
from stratax.tf._losses import softplus as softplus
from stratax.tf._losses import (
    sparse_softmax_cross_entropy_with_logits as sparse_softmax_cross_entropy_with_logits,
)
from stratax.tf._names import missing_name

__all__ = [
    "compute_average_loss",
    "dropout",
    "elu",
    "gelu",
    "l2_loss",
    "leaky_relu",
    "log_softmax",
    "relu",
    "relu6",
    "scale_regularization_loss",
    "sigmoid",
    "sigmoid_cross_entropy_with_logits",
    "silu",
    "softmax",
    "softmax_cross_entropy_with_logits",
    "softplus",
    "sparse_softmax_cross_entropy_with_logits",
    "swish",
    "tanh",
    "top_k",
]
__getattr__ = missing_name(__name__, __all__)
