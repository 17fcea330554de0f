import stratax.tensorflow.ops.arrays.sequences
import stratax.tensorflow.ops.nn.convolutions
import stratax.tensorflow.ops.nn.pooling
from stratax.tensorflow.ops.nn.candidates import (
    log_uniform_candidate_sampler as log_uniform_candidate_sampler,
)
from stratax.tensorflow.ops.nn.candidates import uniform_candidate_sampler as uniform_candidate_sampler
from stratax.tensorflow.ops.nn.normalization import fused_batch_norm as fused_batch_norm

from . import rnn_cell as rnn_cell
from ._convolutions import conv1d as conv1d
from ._convolutions import conv2d_transpose as conv2d_transpose
from ._convolutions import conv3d as conv3d
from ._convolutions import crelu as crelu
from ._convolutions import ctc_loss as ctc_loss
from ._convolutions import depthwise_conv2d as depthwise_conv2d
from ._convolutions import relu_layer as relu_layer
from ._convolutions import separable_conv2d as separable_conv2d
from ._convolutions import weighted_cross_entropy_with_logits as weighted_cross_entropy_with_logits
from ._functions import avg_pool as avg_pool
from ._functions import conv2d as conv2d
from ._functions import dropout as dropout
from ._functions import embedding_lookup as embedding_lookup
from ._functions import in_top_k as in_top_k
from ._functions import l2_normalize as l2_normalize
from ._functions import log_softmax as log_softmax
from ._functions import max_pool as max_pool
from ._functions import moments as moments
from ._functions import softmax as softmax
from ._functions import softmax_cross_entropy_with_logits as softmax_cross_entropy_with_logits
from ._functions import softmax_cross_entropy_with_logits_v2 as softmax_cross_entropy_with_logits_v2
from ._functions import xw_plus_b as xw_plus_b
from ._rnn import bidirectional_dynamic_rnn as bidirectional_dynamic_rnn
from ._rnn import dynamic_rnn as dynamic_rnn
from ._rnn import static_bidirectional_rnn as static_bidirectional_rnn
from ._rnn import static_rnn as static_rnn
from ._rnn import transpose_batch_time as transpose_batch_time

avg_pool_v2 = stratax.tensorflow.ops.nn.pooling.avg_pool
max_pool_v2 = stratax.tensorflow.ops.nn.pooling.max_pool
ctc_loss_v2 = stratax.tensorflow.ops.arrays.sequences.ctc_loss
ctc_beam_search_decoder_v2 = stratax.tensorflow.ops.arrays.sequences.ctc_beam_search_decoder
depthwise_conv2d_native = stratax.tensorflow.ops.nn.convolutions.depthwise_conv2d
depthwise_conv2d_native_backprop_filter = (
    stratax.tensorflow.ops.nn.convolutions.depthwise_conv2d_backprop_filter
)
depthwise_conv2d_native_backprop_input = (
    stratax.tensorflow.ops.nn.convolutions.depthwise_conv2d_backprop_input
)
