"""What `make_recurrent.py` asks TensorFlow 1.15 and the tests ask Stratax: recurrent nets, and what trains with them.

Read by both, so neither TensorFlow nor Stratax is imported here: cases get `tf`. A case is a function of `X`, shape
(batch, time, size), and `LENGTHS` that gives a nested structure of tensors.
"""

import numpy as np

X = np.random.RandomState(0).randn(2, 4, 3).round(2).astype(np.float32)
LENGTHS = np.array([4, 2], np.int32)
# The shape of a variable's first values tells what they are, in both.
SCOPE = "m"


def initializer(tf):
    """Return what gives variables their first values."""

    def values(shape, dtype=None, partition_info=None):
        shape = [int(size) for size in shape]
        return tf.constant((np.sin(np.arange(np.prod(shape))) * 0.5).reshape(shape).astype(np.float32))

    return values


def body(tf, case, x, lengths):
    """Return the leaves of what a case gives, and the gradients of a loss of them: of `x` and of the variables."""
    with tf.variable_scope(SCOPE, initializer=initializer(tf)):
        found = [tf.convert_to_tensor(each) for each in flat(case(x, lengths))]
    floats = [each for each in found if "float" in str(each.dtype)]
    loss = sum(tf.reduce_sum(each * each * (place + 1.0)) for place, each in enumerate(floats))
    return found, tf.gradients(loss, [x, *tf.trainable_variables()])


def names_of(variables):
    """Return the names of variables, without the number of the output."""
    return [each.name.split(":")[0] for each in variables]


def flat(structure):
    """Return the leaves of nested tuples and lists."""
    if isinstance(structure, (list, tuple)):
        return [leaf for part in structure for leaf in flat(part)]
    return [structure]


def cells(tf):
    """`tf.nn.rnn_cell`, and the functions that run cells."""
    rnn_cell, nn = tf.nn.rnn_cell, tf.nn

    class Own(rnn_cell.RNNCell):
        def __init__(self, units):
            super().__init__(name="own")
            self.units = units

        @property
        def state_size(self):
            return (self.units, self.units)

        @property
        def output_size(self):
            return self.units

        def call(self, inputs, state):
            before, last = state
            w = tf.get_variable("w", [inputs.get_shape()[-1], self.units])
            h = tf.layers.dense(inputs, self.units) + tf.matmul(inputs, w) + before * 0.5
            return h + last, (h, before)

    class Old(rnn_cell.RNNCell):
        """As programs of TensorFlow 1.0 have them: without the layer's `__init__` and `call`."""

        def __init__(self, units):
            self._units = units

        @property
        def state_size(self):
            return self._units

        @property
        def output_size(self):
            return self._units

        def __call__(self, inputs, state, scope=None):
            with tf.variable_scope(scope or type(self).__name__):
                w = tf.get_variable("w", [inputs.get_shape()[1], self._units])
                h = tf.tanh(tf.matmul(inputs, w) + state)
            return h, h

    def lstm(x, lengths):
        """With all that the cell of LSTMs can be given, and another one backward."""
        forward = rnn_cell.LSTMCell(
            2, use_peepholes=True, num_proj=3, cell_clip=0.3, proj_clip=0.2, forget_bias=0.5
        )
        return nn.bidirectional_dynamic_rnn(forward, rnn_cell.BasicLSTMCell(2), x, lengths, dtype=tf.float32)

    def layers(x, lengths):
        """Two cells one above the other, along the first dimension."""
        cell = rnn_cell.MultiRNNCell(
            [rnn_cell.GRUCell(2), rnn_cell.ResidualWrapper(rnn_cell.DropoutWrapper(rnn_cell.GRUCell(2)))]
        )
        return nn.dynamic_rnn(cell, tf.transpose(x, [1, 0, 2]), lengths, time_major=True, dtype=tf.float32)

    def static(x, lengths):
        """A list of inputs, a state of one tensor."""
        cell = rnn_cell.MultiRNNCell(
            [
                rnn_cell.BasicLSTMCell(2, state_is_tuple=False, activation=tf.nn.relu),
                rnn_cell.BasicRNNCell(3),
            ],
            state_is_tuple=False,
        )
        return nn.static_rnn(cell, tf.unstack(x, axis=1), dtype=tf.float32, sequence_length=lengths)

    def static_bidirectional(x, lengths):
        with tf.variable_scope("backward"):
            whole = nn.static_bidirectional_rnn(
                rnn_cell.GRUCell(2), rnn_cell.GRUCell(2), tf.unstack(x, axis=1), dtype=tf.float32
            )
        return whole, nn.static_bidirectional_rnn(
            rnn_cell.GRUCell(2),
            rnn_cell.GRUCell(2),
            tf.unstack(x, axis=1),
            dtype=tf.float32,
            sequence_length=lengths,
        )

    def own(x, lengths):
        return nn.dynamic_rnn(Own(2), x, lengths, initial_state=(tf.ones([2, 2]), tf.zeros([2, 2])))

    def old(x, lengths):
        return nn.dynamic_rnn(Old(2), x, lengths, dtype=tf.float32)

    def twice(x, lengths):
        """A cell that is used twice, and names that are taken."""
        cell = rnn_cell.GRUCell(
            2,
            kernel_initializer=tf.constant_initializer(0.1),
            bias_initializer=tf.constant_initializer(0.2),
        )
        outputs, _ = nn.dynamic_rnn(cell, x, lengths, dtype=tf.float32)
        again, _ = nn.dynamic_rnn(cell, x, dtype=tf.float32)
        with tf.variable_scope("second"):
            return (
                outputs,
                again,
                nn.bidirectional_dynamic_rnn(
                    rnn_cell.BasicRNNCell(2, name="a"), rnn_cell.BasicRNNCell(2), x, dtype=tf.float32
                ),
            )

    return [lstm, layers, static, static_bidirectional, own, old, twice]


def contrib_cells(tf):
    """`tf.contrib.rnn`."""
    rnn, nn = tf.contrib.rnn, tf.nn

    def block(x, lengths):
        """Cells of fused kernels."""
        cells = [
            rnn.LSTMBlockCell(2, use_peephole=True, cell_clip=0.4),
            rnn.GRUBlockCell(2),
            rnn.GRUBlockCellV2(3),
        ]
        return nn.dynamic_rnn(rnn.MultiRNNCell(cells), x, lengths, dtype=tf.float32)

    def fused(x, lengths):
        """Whole sequences at once, forward and backward."""
        t = tf.transpose(x, [1, 0, 2])
        forward = rnn.LSTMBlockFusedCell(2, use_peephole=True, cell_clip=0.3)
        backward = rnn.TimeReversedFusedRNN(rnn.LSTMBlockFusedCell(3))
        start = (tf.ones([2, 2]), tf.zeros([2, 2]))
        found, last = forward(t, initial_state=start, sequence_length=lengths)
        assert tuple(found.get_shape().as_list()) == (4, 2, 2)
        whole = rnn.LSTMBlockFusedCell(2, forget_bias=0.0)(t, dtype=tf.float32)
        return found, last, backward(t, dtype=tf.float32, sequence_length=lengths), whole

    def adaptors(x, lengths):
        t = tf.transpose(x, [1, 0, 2])
        static = rnn.FusedRNNCellAdaptor(rnn.GRUCell(2))
        dynamic = rnn.TimeReversedFusedRNN(rnn.FusedRNNCellAdaptor(rnn.BasicRNNCell(2), use_dynamic_rnn=True))
        return (
            static(t, dtype=tf.float32, sequence_length=lengths, scope="a"),
            dynamic(t, dtype=tf.float32, sequence_length=lengths, scope="b"),
        )

    def normalized(x, lengths):
        cell = rnn.LayerNormBasicLSTMCell(4, norm_gain=0.7, norm_shift=0.1)
        plain = rnn.LayerNormBasicLSTMCell(2, layer_norm=False)
        return nn.bidirectional_dynamic_rnn(cell, plain, x, lengths, dtype=tf.float32)

    def projected(x, lengths):
        inner = rnn.InputProjectionWrapper(rnn.GRUCell(2), 4, activation=tf.nn.relu)
        return nn.dynamic_rnn(rnn.OutputProjectionWrapper(inner, 3), x, lengths, dtype=tf.float32)

    def embedded(x, lengths):
        cell = rnn.EmbeddingWrapper(rnn.GRUCell(2), 5, 3)
        return nn.static_rnn(cell, [tf.constant([0, 4]), tf.constant([2, 2])], dtype=tf.float32)

    def stack(x, lengths):
        return rnn.stack_bidirectional_dynamic_rnn(
            [rnn.GRUCell(2), rnn.GRUCell(2)],
            [rnn.GRUCell(2), rnn.GRUCell(3)],
            x,
            dtype=tf.float32,
            sequence_length=lengths,
        )

    def static_stack(x, lengths):
        return rnn.stack_bidirectional_rnn(
            [rnn.GRUCell(2)], [rnn.GRUCell(2)], tf.unstack(x, axis=1), dtype=tf.float32
        )

    return [block, fused, adaptors, normalized, projected, embedded, stack, static_stack]


def crf(tf):
    """`tf.contrib.crf`."""
    fields = tf.contrib.crf
    tags = np.array([[0, 2, 1, 1], [2, 0, 0, 0]], np.int32)

    def likelihood(x, lengths):
        found, transitions = fields.crf_log_likelihood(x, tf.constant(tags), lengths)
        given, _ = fields.crf_log_likelihood(x, tf.constant(tags), tf.constant([0, 1]), transitions)
        return found, transitions, given

    def scores(x, lengths):
        transitions = tf.get_variable("t", [3, 3])
        allowed = tf.constant(np.arange(24).reshape(2, 4, 3) % 5 > 0)
        return (
            fields.crf_unary_score(tf.constant(tags), lengths, x),
            fields.crf_binary_score(tf.constant(tags), lengths, transitions),
            fields.crf_sequence_score(x[:, :1], tf.constant(tags[:, :1]), tf.constant([1, 0]), transitions),
            fields.crf_log_norm(x[:, :1], tf.constant([1, 0]), transitions),
            fields.crf_multitag_sequence_score(x, allowed, lengths, transitions),
        )

    def decoded(x, lengths):
        transitions = tf.get_variable("t", [3, 3])
        return (
            fields.crf_decode(x, transitions, lengths),
            fields.crf_decode(x, transitions, tf.constant([3, 0])),
            fields.crf_decode(x[:, :1], transitions, tf.constant([1, 1])),
        )

    return [likelihood, scores, decoded]


GROUPS = {"cells": cells, "contrib_cells": contrib_cells, "crf": crf}
