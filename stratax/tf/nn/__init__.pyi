"""`tf.nn`: non-linearities, losses and the averages of a distributed loop (tf layer)."""

import stratax.tensorflow.ops.nn.candidates
import stratax.tensorflow.ops.nn.nn
from stratax.distribute import compute_average_loss as compute_average_loss
from stratax.distribute import scale_regularization_loss as scale_regularization_loss
from stratax.tensorflow.ops.arrays.blocks import depth_to_space as depth_to_space
from stratax.tensorflow.ops.arrays.blocks import space_to_batch as space_to_batch
from stratax.tensorflow.ops.arrays.blocks import space_to_depth as space_to_depth
from stratax.tensorflow.ops.arrays.ordering import top_k as top_k
from stratax.tensorflow.ops.arrays.sequences import collapse_repeated as collapse_repeated
from stratax.tensorflow.ops.arrays.sequences import ctc_beam_search_decoder as ctc_beam_search_decoder
from stratax.tensorflow.ops.arrays.sequences import ctc_greedy_decoder as ctc_greedy_decoder
from stratax.tensorflow.ops.arrays.sequences import ctc_loss as ctc_loss
from stratax.tensorflow.ops.math.arithmetic import l2_normalize as l2_normalize
from stratax.tensorflow.ops.math.arithmetic import zero_fraction as zero_fraction
from stratax.tensorflow.ops.math.elementwise import sigmoid as sigmoid
from stratax.tensorflow.ops.math.elementwise import tanh as tanh
from stratax.tensorflow.ops.nn.candidates import all_candidate_sampler as all_candidate_sampler
from stratax.tensorflow.ops.nn.candidates import compute_accidental_hits as compute_accidental_hits
from stratax.tensorflow.ops.nn.candidates import (
    fixed_unigram_candidate_sampler as fixed_unigram_candidate_sampler,
)
from stratax.tensorflow.ops.nn.candidates import nce_loss as nce_loss
from stratax.tensorflow.ops.nn.candidates import sampled_softmax_loss as sampled_softmax_loss
from stratax.tensorflow.ops.nn.convolutions import atrous_conv2d as atrous_conv2d
from stratax.tensorflow.ops.nn.convolutions import atrous_conv2d_transpose as atrous_conv2d_transpose
from stratax.tensorflow.ops.nn.convolutions import conv1d as conv1d
from stratax.tensorflow.ops.nn.convolutions import conv1d_transpose as conv1d_transpose
from stratax.tensorflow.ops.nn.convolutions import conv2d as conv2d
from stratax.tensorflow.ops.nn.convolutions import conv2d_transpose as conv2d_transpose
from stratax.tensorflow.ops.nn.convolutions import conv3d as conv3d
from stratax.tensorflow.ops.nn.convolutions import conv3d_transpose as conv3d_transpose
from stratax.tensorflow.ops.nn.convolutions import conv_transpose as conv_transpose
from stratax.tensorflow.ops.nn.convolutions import convolution as convolution
from stratax.tensorflow.ops.nn.convolutions import depthwise_conv2d as depthwise_conv2d
from stratax.tensorflow.ops.nn.convolutions import (
    depthwise_conv2d_backprop_filter as depthwise_conv2d_backprop_filter,
)
from stratax.tensorflow.ops.nn.convolutions import (
    depthwise_conv2d_backprop_input as depthwise_conv2d_backprop_input,
)
from stratax.tensorflow.ops.nn.convolutions import separable_conv2d as separable_conv2d
from stratax.tensorflow.ops.nn.embeddings import embedding_lookup as embedding_lookup
from stratax.tensorflow.ops.nn.embeddings import embedding_lookup_sparse as embedding_lookup_sparse
from stratax.tensorflow.ops.nn.embeddings import safe_embedding_lookup_sparse as safe_embedding_lookup_sparse
from stratax.tensorflow.ops.nn.fractional import fractional_avg_pool as fractional_avg_pool
from stratax.tensorflow.ops.nn.fractional import fractional_max_pool as fractional_max_pool
from stratax.tensorflow.ops.nn.nn import crelu as crelu
from stratax.tensorflow.ops.nn.nn import dropout as dropout
from stratax.tensorflow.ops.nn.nn import elu as elu
from stratax.tensorflow.ops.nn.nn import gelu as gelu
from stratax.tensorflow.ops.nn.nn import in_top_k as in_top_k
from stratax.tensorflow.ops.nn.nn import l2_loss as l2_loss
from stratax.tensorflow.ops.nn.nn import leaky_relu as leaky_relu
from stratax.tensorflow.ops.nn.nn import log_poisson_loss as log_poisson_loss
from stratax.tensorflow.ops.nn.nn import log_softmax as log_softmax
from stratax.tensorflow.ops.nn.nn import relu as relu
from stratax.tensorflow.ops.nn.nn import relu6 as relu6
from stratax.tensorflow.ops.nn.nn import selu as selu
from stratax.tensorflow.ops.nn.nn import (
    sigmoid_cross_entropy_with_logits as sigmoid_cross_entropy_with_logits,
)
from stratax.tensorflow.ops.nn.nn import silu as silu
from stratax.tensorflow.ops.nn.nn import softmax as softmax
from stratax.tensorflow.ops.nn.nn import (
    softmax_cross_entropy_with_logits as softmax_cross_entropy_with_logits,
)
from stratax.tensorflow.ops.nn.nn import softplus as softplus
from stratax.tensorflow.ops.nn.nn import softsign as softsign
from stratax.tensorflow.ops.nn.nn import (
    sparse_softmax_cross_entropy_with_logits as sparse_softmax_cross_entropy_with_logits,
)
from stratax.tensorflow.ops.nn.nn import (
    weighted_cross_entropy_with_logits as weighted_cross_entropy_with_logits,
)
from stratax.tensorflow.ops.nn.normalization import (
    batch_norm_with_global_normalization as batch_norm_with_global_normalization,
)
from stratax.tensorflow.ops.nn.normalization import batch_normalization as batch_normalization
from stratax.tensorflow.ops.nn.normalization import bias_add as bias_add
from stratax.tensorflow.ops.nn.normalization import (
    local_response_normalization as local_response_normalization,
)
from stratax.tensorflow.ops.nn.normalization import lrn as lrn
from stratax.tensorflow.ops.nn.normalization import moments as moments
from stratax.tensorflow.ops.nn.normalization import normalize_moments as normalize_moments
from stratax.tensorflow.ops.nn.normalization import sufficient_statistics as sufficient_statistics
from stratax.tensorflow.ops.nn.normalization import weighted_moments as weighted_moments
from stratax.tensorflow.ops.nn.pooling import avg_pool as avg_pool
from stratax.tensorflow.ops.nn.pooling import avg_pool1d as avg_pool1d
from stratax.tensorflow.ops.nn.pooling import avg_pool2d as avg_pool2d
from stratax.tensorflow.ops.nn.pooling import avg_pool3d as avg_pool3d
from stratax.tensorflow.ops.nn.pooling import dilation2d as dilation2d
from stratax.tensorflow.ops.nn.pooling import erosion2d as erosion2d
from stratax.tensorflow.ops.nn.pooling import max_pool as max_pool
from stratax.tensorflow.ops.nn.pooling import max_pool1d as max_pool1d
from stratax.tensorflow.ops.nn.pooling import max_pool2d as max_pool2d
from stratax.tensorflow.ops.nn.pooling import max_pool3d as max_pool3d
from stratax.tensorflow.ops.nn.pooling import max_pool_with_argmax as max_pool_with_argmax
from stratax.tensorflow.ops.nn.pooling import pool as pool
from stratax.tensorflow.ops.nn.scores import approx_max_k as approx_max_k
from stratax.tensorflow.ops.nn.scores import approx_min_k as approx_min_k
from stratax.tensorflow.ops.nn.scores import isotonic_regression as isotonic_regression
from stratax.tensorflow.v1 import rnn_cell as rnn_cell
from stratax.tensorflow.v1.nn import bidirectional_dynamic_rnn as bidirectional_dynamic_rnn
from stratax.tensorflow.v1.nn import dynamic_rnn as dynamic_rnn
from stratax.tensorflow.v1.nn import (
    softmax_cross_entropy_with_logits_v2 as softmax_cross_entropy_with_logits_v2,
)
from stratax.tensorflow.v1.nn import static_bidirectional_rnn as static_bidirectional_rnn
from stratax.tensorflow.v1.nn import static_rnn as static_rnn
from stratax.tensorflow.v1.nn import xw_plus_b as xw_plus_b

from . import experimental as experimental

swish = stratax.tensorflow.ops.nn.nn.silu
learned_unigram_candidate_sampler = stratax.tensorflow.ops.nn.candidates.sample_learned_unigrams
