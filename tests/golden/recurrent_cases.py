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


GROUPS = {"cells": cells}
