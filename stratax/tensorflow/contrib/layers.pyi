import stratax.tensorflow.contrib._layers
import stratax.tensorflow.contrib._made
from stratax.tensorflow.v1.contrib_layers import *

from ._layers import convolution as convolution
from ._layers import convolution1d as convolution1d
from ._layers import convolution2d as convolution2d
from ._layers import convolution2d_transpose as convolution2d_transpose
from ._layers import convolution3d as convolution3d
from ._layers import convolution3d_transpose as convolution3d_transpose
from ._layers import fully_connected as fully_connected
from ._layers import separable_convolution2d as separable_convolution2d
from ._made import elu as elu
from ._made import linear as linear
from ._made import relu as relu
from ._made import relu6 as relu6
from ._made import variance_scaling_initializer as variance_scaling_initializer
from ._normalizations import batch_norm as batch_norm
from ._normalizations import group_norm as group_norm
from ._normalizations import instance_norm as instance_norm
from ._normalizations import layer_norm as layer_norm
from ._optimize_loss import OPTIMIZER_CLS_NAMES as OPTIMIZER_CLS_NAMES
from ._optimize_loss import OPTIMIZER_SUMMARIES as OPTIMIZER_SUMMARIES
from ._optimize_loss import optimize_loss as optimize_loss
from ._other_layers import avg_pool2d as avg_pool2d
from ._other_layers import avg_pool3d as avg_pool3d
from ._other_layers import bias_add as bias_add
from ._other_layers import bow_encoder as bow_encoder
from ._other_layers import dropout as dropout
from ._other_layers import embed_sequence as embed_sequence
from ._other_layers import flatten as flatten
from ._other_layers import max_pool2d as max_pool2d
from ._other_layers import max_pool3d as max_pool3d
from ._other_layers import maxout as maxout
from ._other_layers import one_hot_encoding as one_hot_encoding
from ._other_layers import repeat as repeat
from ._other_layers import softmax as softmax
from ._other_layers import stack as stack
from ._other_layers import unit_norm as unit_norm

conv1d = stratax.tensorflow.contrib._layers.convolution1d
conv2d = stratax.tensorflow.contrib._layers.convolution2d
conv2d_transpose = stratax.tensorflow.contrib._layers.convolution2d_transpose
conv3d = stratax.tensorflow.contrib._layers.convolution3d
conv3d_transpose = stratax.tensorflow.contrib._layers.convolution3d_transpose
separable_conv2d = stratax.tensorflow.contrib._layers.separable_convolution2d
