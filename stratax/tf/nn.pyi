import stratax.ops.nn
from stratax.distribute import compute_average_loss as compute_average_loss
from stratax.distribute import scale_regularization_loss as scale_regularization_loss
from stratax.ops.arrays import top_k as top_k
from stratax.ops.elementwise import sigmoid as sigmoid
from stratax.ops.elementwise import tanh as tanh
from stratax.ops.nn import dropout as dropout
from stratax.ops.nn import elu as elu
from stratax.ops.nn import gelu as gelu
from stratax.ops.nn import l2_loss as l2_loss
from stratax.ops.nn import leaky_relu as leaky_relu
from stratax.ops.nn import log_softmax as log_softmax
from stratax.ops.nn import relu as relu
from stratax.ops.nn import relu6 as relu6
from stratax.ops.nn import sigmoid_cross_entropy_with_logits as sigmoid_cross_entropy_with_logits
from stratax.ops.nn import silu as silu
from stratax.ops.nn import softmax as softmax
from stratax.ops.nn import softmax_cross_entropy_with_logits as softmax_cross_entropy_with_logits
from stratax.ops.nn import softplus as softplus
from stratax.ops.nn import (
    sparse_softmax_cross_entropy_with_logits as sparse_softmax_cross_entropy_with_logits,
)
from stratax.v1.nn import (
    softmax_cross_entropy_with_logits_v2 as softmax_cross_entropy_with_logits_v2,
)

swish = stratax.ops.nn.silu
