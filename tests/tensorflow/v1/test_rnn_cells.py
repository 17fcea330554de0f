"""Cells by themselves: what they refuse, their states and variables."""

import jax.numpy as jnp
import numpy as np
import pytest

from stratax import errors
from stratax.tensorflow import v1
from stratax.tensorflow.v1 import rnn_cell
from tests.tensorflow.v1.steps import Step

X = np.ones((2, 3), np.float32)


def in_step(body):
    return Step(lambda scope, x: body(x))(X)


def test_a_cell_knows_its_variables():
    def body(x):
        cell = rnn_cell.MultiRNNCell([rnn_cell.BasicLSTMCell(2), rnn_cell.GRUCell(4, trainable=False)])
        cell(x, cell.zero_state(2, "float32"))
        assert [each.path for each in cell.trainable_variables] == [
            "multi_rnn_cell/cell_0/basic_lstm_cell/kernel",
            "multi_rnn_cell/cell_0/basic_lstm_cell/bias",
        ]
        assert len(cell.variables) == 6
        assert len(cell.non_trainable_weights) == 4
        return x

    in_step(body)


def test_states_are_zeros_of_the_sizes_of_a_cell():
    def body(x):
        cell = rnn_cell.MultiRNNCell([rnn_cell.LSTMCell(4, num_proj=3), rnn_cell.BasicRNNCell(2)])
        (c, h), plain = cell.get_initial_state(inputs=x)
        return c, h, plain

    assert [each.shape for each in in_step(body)] == [(2, 4), (2, 3), (2, 2)]
    with pytest.raises(errors.BadArgumentError, match="cannot be None"):
        in_step(lambda x: rnn_cell.GRUCell(2).get_initial_state())


def test_a_tuple_of_a_state_has_one_dtype():
    state = rnn_cell.LSTMStateTuple(jnp.zeros(1), jnp.zeros(1))
    assert state.dtype == "float32"
    with pytest.raises(errors.BadTypeError, match="one dtype"):
        _ = state._replace(c=jnp.zeros(1, "int32")).dtype


def test_cells_refuse_what_they_do_not_take():
    with pytest.raises(errors.BadArgumentError, match="only supports floating point"):
        in_step(lambda x: rnn_cell.GRUCell(2)(x.astype("int32"), jnp.zeros((2, 2))))
    with pytest.raises(errors.BadArgumentError, match="takes a matrix"):
        in_step(lambda x: rnn_cell.GRUCell(2)(x[0], jnp.zeros((2, 2))))
    with pytest.raises(errors.BadArgumentError, match="a pair"):
        in_step(lambda x: rnn_cell.LSTMCell(2)(x, jnp.zeros((2, 2))))
    with pytest.raises(errors.BadArgumentError, match="at least one cell"):
        in_step(lambda x: rnn_cell.MultiRNNCell([]))
    with pytest.raises(errors.BadArgumentError, match="a state of one tensor"):
        in_step(lambda x: rnn_cell.MultiRNNCell([rnn_cell.LSTMCell(2)], state_is_tuple=False))
    with pytest.raises(errors.BadArgumentError, match="tuple of length 1"):
        in_step(lambda x: rnn_cell.MultiRNNCell([rnn_cell.GRUCell(2)])(x, jnp.zeros((2, 2))))
    with pytest.raises(errors.BadArgumentError, match="between 0 and 1"):
        in_step(lambda x: rnn_cell.DropoutWrapper(rnn_cell.GRUCell(2), 2.0))
    with pytest.raises(errors.BadTypeError, match="must be callable"):
        in_step(lambda x: rnn_cell.DropoutWrapper(rnn_cell.GRUCell(2), dropout_state_filter_visitor=1))
    with pytest.raises(errors.BadArgumentError, match="input_size with input_keep_prob"):
        in_step(lambda x: rnn_cell.DropoutWrapper(rnn_cell.GRUCell(2), 0.5, variational_recurrent=True))
    with pytest.raises(errors.BadArgumentError, match="outputs of the inputs' shape"):
        in_step(lambda x: rnn_cell.ResidualWrapper(rnn_cell.GRUCell(2))(x, jnp.zeros((2, 2))))
    with pytest.raises(errors.BadTypeError, match="is not an RNNCell"):
        in_step(lambda x: rnn_cell.DeviceWrapper(max, "/gpu:0"))


def test_dropout_leaves_the_memory_of_lstms_and_what_a_visitor_excepts():
    units = 40

    def body(x):
        def dropped(state, visitor=None):
            class Same(rnn_cell.RNNCell):
                state_size = output_size = 1

                def call(self, inputs, state):
                    return inputs, state

            cell = rnn_cell.DropoutWrapper(
                Same(), state_keep_prob=0.5, dropout_state_filter_visitor=visitor, seed=3
            )
            return cell(x, state)[1]

        ones = jnp.ones((2, units))
        pair = rnn_cell.LSTMStateTuple(ones, ones)
        chosen = dropped((ones, pair), lambda part: part is not pair)
        return dropped(pair), dropped(ones), chosen

    (c, h), plain, (first, (left, also)) = in_step(body)
    assert np.all(c == 1)
    assert np.all(left == 1)
    assert np.all(also == 1)
    for each in (h, plain, first):
        assert set(np.unique(each)) == {0, 2}


def test_variational_dropout_is_the_same_for_all_examples_and_steps():
    def body(x):
        cell = rnn_cell.DropoutWrapper(
            rnn_cell.BasicRNNCell(30), 0.5, 0.5, 1.0, True, 3, "float32", activity_regularizer=None
        )
        with v1.variable_scope("s", initializer=v1.ones_initializer()):
            first, state = cell(x, cell.zero_state(2, "float32"))
            second, _ = cell(x, state)
        return first, second

    first, second = in_step(body)
    assert 0 < np.mean(first == 0) < 1
    np.testing.assert_array_equal(first[0], first[1])
    np.testing.assert_array_equal(first == 0, second == 0)
