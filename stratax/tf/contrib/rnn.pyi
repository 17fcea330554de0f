"""`tf.contrib.rnn`: recurrent cells and nets (tf layer)."""

from stratax.tensorflow.contrib._cells import EmbeddingWrapper as EmbeddingWrapper
from stratax.tensorflow.contrib._cells import GRUBlockCell as GRUBlockCell
from stratax.tensorflow.contrib._cells import GRUBlockCellV2 as GRUBlockCellV2
from stratax.tensorflow.contrib._cells import InputProjectionWrapper as InputProjectionWrapper
from stratax.tensorflow.contrib._cells import LayerNormBasicLSTMCell as LayerNormBasicLSTMCell
from stratax.tensorflow.contrib._cells import LSTMBlockCell as LSTMBlockCell
from stratax.tensorflow.contrib._cells import OutputProjectionWrapper as OutputProjectionWrapper
from stratax.tensorflow.contrib._fused_cells import FusedRNNCell as FusedRNNCell
from stratax.tensorflow.contrib._fused_cells import FusedRNNCellAdaptor as FusedRNNCellAdaptor
from stratax.tensorflow.contrib._fused_cells import LSTMBlockFusedCell as LSTMBlockFusedCell
from stratax.tensorflow.contrib._fused_cells import TimeReversedFusedRNN as TimeReversedFusedRNN
from stratax.tensorflow.contrib._fused_cells import (
    best_effort_input_batch_size as best_effort_input_batch_size,
)
from stratax.tensorflow.contrib._fused_cells import (
    stack_bidirectional_dynamic_rnn as stack_bidirectional_dynamic_rnn,
)
from stratax.tensorflow.contrib._fused_cells import stack_bidirectional_rnn as stack_bidirectional_rnn
from stratax.tensorflow.v1.nn import static_bidirectional_rnn as static_bidirectional_rnn
from stratax.tensorflow.v1.nn import static_rnn as static_rnn
from stratax.tensorflow.v1.nn import transpose_batch_time as transpose_batch_time
from stratax.tensorflow.v1.rnn_cell import BasicLSTMCell as BasicLSTMCell
from stratax.tensorflow.v1.rnn_cell import BasicRNNCell as BasicRNNCell
from stratax.tensorflow.v1.rnn_cell import DeviceWrapper as DeviceWrapper
from stratax.tensorflow.v1.rnn_cell import DropoutWrapper as DropoutWrapper
from stratax.tensorflow.v1.rnn_cell import GRUCell as GRUCell
from stratax.tensorflow.v1.rnn_cell import LayerRNNCell as LayerRNNCell
from stratax.tensorflow.v1.rnn_cell import LSTMCell as LSTMCell
from stratax.tensorflow.v1.rnn_cell import LSTMStateTuple as LSTMStateTuple
from stratax.tensorflow.v1.rnn_cell import MultiRNNCell as MultiRNNCell
from stratax.tensorflow.v1.rnn_cell import ResidualWrapper as ResidualWrapper
from stratax.tensorflow.v1.rnn_cell import RNNCell as RNNCell
