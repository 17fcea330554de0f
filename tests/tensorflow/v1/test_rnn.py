"""Recurrent nets give TensorFlow's numbers, zeros behind the end of sequences, gradients and names of variables."""

import numpy as np
import pytest

from stratax import errors
from stratax.tensorflow import v1
from stratax.tensorflow.v1 import nn, rnn_cell
from tests.tensorflow import recurrent
from tests.tensorflow.v1.steps import Step

X = np.ones((2, 3, 2), np.float32)


@pytest.mark.parametrize("name", recurrent.names_of_cases("cells"))
def test_a_net_is_that_of_tensorflow(name):
    recurrent.check("cells", name)


def test_a_net_needs_a_cell_a_state_and_lengths_of_all_examples():
    def run(**arguments):
        given = {"cell": rnn_cell.GRUCell(2), "inputs": X, **arguments}
        return Step(lambda scope, x: nn.dynamic_rnn(**given))(X)

    with pytest.raises(errors.BadTypeError, match="cell is not an RNNCell"):
        run(cell=len)
    with pytest.raises(errors.BadArgumentError, match="you must give a dtype"):
        run()
    with pytest.raises(errors.BadArgumentError, match="vector of length batch_size, 2"):
        run(dtype="float32", sequence_length=[1])
    with pytest.raises(errors.BadTypeError, match="inputs must be a sequence"):
        Step(lambda scope, x: nn.static_rnn(rnn_cell.GRUCell(2), x, dtype="float32"))(X)
    with pytest.raises(errors.BadArgumentError, match="inputs must not be empty"):
        Step(lambda scope, x: nn.static_rnn(rnn_cell.GRUCell(2), [], dtype="float32"))(X)


def test_a_cell_returns_a_state_of_the_structure_that_it_is_given():
    class Growing(rnn_cell.RNNCell):
        state_size = output_size = 2

        def call(self, inputs, state):
            return state, (state, state)

    with pytest.raises(errors.BadArgumentError, match="a state of the structure"):
        Step(lambda scope, x: nn.dynamic_rnn(Growing(), x, dtype="float32"))(X)


def test_dropout_in_a_loop_draws_anew_in_each_step_and_call():
    def body(scope, x):
        cell = rnn_cell.DropoutWrapper(rnn_cell.BasicRNNCell(50), output_keep_prob=0.5)
        with v1.variable_scope("s", initializer=v1.ones_initializer()):
            return nn.dynamic_rnn(cell, x, dtype="float32")[0]

    step = Step(body)
    first, second = step(X) == 0, step(X) == 0
    assert 0.3 < np.mean(first) < 0.7
    assert (first[:, 0] != first[:, 1]).any()
    assert (first != second).any()


def test_a_net_of_a_cell_of_keras():
    import keras

    def body(scope, x):
        outputs, state = nn.dynamic_rnn(keras.layers.GRUCell(4), x, [3, 1], dtype="float32")
        return outputs, state

    outputs, state = Step(body)(X)
    assert not np.any(outputs[1, 1:])
    np.testing.assert_allclose(np.ravel(state)[:4], outputs[0, -1], rtol=1e-5)
