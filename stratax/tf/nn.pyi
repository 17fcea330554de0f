import stratax.ops.neural
import stratax.ops.nn
from stratax.distribute import compute_average_loss as compute_average_loss
from stratax.distribute import scale_regularization_loss as scale_regularization_loss
from stratax.ops.arrays import top_k as top_k
from stratax.ops.elementwise import sigmoid as sigmoid
from stratax.ops.elementwise import tanh as tanh
from stratax.ops.neural import avg_pool as avg_pool
from stratax.ops.neural import batch_normalization as batch_normalization
from stratax.ops.neural import bias_add as bias_add
from stratax.ops.neural import conv2d as conv2d
from stratax.ops.neural import embedding_lookup as embedding_lookup
from stratax.ops.neural import in_top_k as in_top_k
from stratax.ops.neural import l2_normalize as l2_normalize
from stratax.ops.neural import max_pool as max_pool
from stratax.ops.neural import moments as moments
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
from stratax.v1.nn import xw_plus_b as xw_plus_b

swish = stratax.ops.nn.silu
avg_pool2d = stratax.ops.neural.avg_pool
max_pool2d = stratax.ops.neural.max_pool
