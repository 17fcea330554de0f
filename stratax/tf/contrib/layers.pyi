"""`tf.contrib.layers`, layers whose defaults an argument scope may change (tf layer)."""

import stratax.tensorflow.contrib._layers
import stratax.tensorflow.contrib._made
from stratax.tensorflow.contrib._layers import convolution as convolution
from stratax.tensorflow.contrib._layers import convolution1d as convolution1d
from stratax.tensorflow.contrib._layers import convolution2d as convolution2d
from stratax.tensorflow.contrib._layers import convolution2d_transpose as convolution2d_transpose
from stratax.tensorflow.contrib._layers import convolution3d as convolution3d
from stratax.tensorflow.contrib._layers import convolution3d_transpose as convolution3d_transpose
from stratax.tensorflow.contrib._layers import fully_connected as fully_connected
from stratax.tensorflow.contrib._layers import separable_convolution2d as separable_convolution2d
from stratax.tensorflow.contrib._made import elu as elu
from stratax.tensorflow.contrib._made import linear as linear
from stratax.tensorflow.contrib._made import relu as relu
from stratax.tensorflow.contrib._made import relu6 as relu6
from stratax.tensorflow.contrib._made import variance_scaling_initializer as variance_scaling_initializer
from stratax.tensorflow.contrib._normalizations import batch_norm as batch_norm
from stratax.tensorflow.contrib._normalizations import group_norm as group_norm
from stratax.tensorflow.contrib._normalizations import instance_norm as instance_norm
from stratax.tensorflow.contrib._normalizations import layer_norm as layer_norm
from stratax.tensorflow.contrib._optimize_loss import OPTIMIZER_CLS_NAMES as OPTIMIZER_CLS_NAMES
from stratax.tensorflow.contrib._optimize_loss import OPTIMIZER_SUMMARIES as OPTIMIZER_SUMMARIES
from stratax.tensorflow.contrib._optimize_loss import optimize_loss as optimize_loss
from stratax.tensorflow.contrib._other_layers import avg_pool2d as avg_pool2d
from stratax.tensorflow.contrib._other_layers import avg_pool3d as avg_pool3d
from stratax.tensorflow.contrib._other_layers import bias_add as bias_add
from stratax.tensorflow.contrib._other_layers import bow_encoder as bow_encoder
from stratax.tensorflow.contrib._other_layers import dropout as dropout
from stratax.tensorflow.contrib._other_layers import embed_sequence as embed_sequence
from stratax.tensorflow.contrib._other_layers import flatten as flatten
from stratax.tensorflow.contrib._other_layers import max_pool2d as max_pool2d
from stratax.tensorflow.contrib._other_layers import max_pool3d as max_pool3d
from stratax.tensorflow.contrib._other_layers import maxout as maxout
from stratax.tensorflow.contrib._other_layers import one_hot_encoding as one_hot_encoding
from stratax.tensorflow.contrib._other_layers import repeat as repeat
from stratax.tensorflow.contrib._other_layers import softmax as softmax
from stratax.tensorflow.contrib._other_layers import stack as stack
from stratax.tensorflow.contrib._other_layers import unit_norm as unit_norm
from stratax.tensorflow.v1.contrib_layers import *

conv1d = stratax.tensorflow.contrib._layers.convolution1d
conv2d = stratax.tensorflow.contrib._layers.convolution2d
conv2d_transpose = stratax.tensorflow.contrib._layers.convolution2d_transpose
conv3d = stratax.tensorflow.contrib._layers.convolution3d
conv3d_transpose = stratax.tensorflow.contrib._layers.convolution3d_transpose
separable_conv2d = stratax.tensorflow.contrib._layers.separable_convolution2d
