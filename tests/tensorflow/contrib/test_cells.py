"""Cells and nets of `tf.contrib.rnn` give TensorFlow's numbers, gradients and names of variables."""

import jax.numpy as jnp
import numpy as np
import pytest

from stratax import errors
from stratax.tensorflow.v1 import rnn_cell
from stratax.tf.contrib import rnn
from tests.tensorflow import recurrent
from tests.tensorflow.v1.steps import Step

X = np.ones((2, 3), np.float32)


@pytest.mark.parametrize("name", recurrent.names_of_cases("contrib_cells"))
def test_a_net_is_that_of_tensorflow(name):
    recurrent.check("contrib_cells", name)


def test_dropout_of_a_normalized_cell_changes_its_candidates():
    def body(scope, x):
        cell = rnn.LayerNormBasicLSTMCell(50, dropout_keep_prob=0.5)
        return cell(x, cell.zero_state(2, "float32"))[1].c

    # A candidate of 0 gives the same number in all places, before the state is normalized.
    found = np.asarray(Step(body)(X))
    assert 10 < len(np.unique(found.round(4))) < 95


def test_what_does_not_go_together_is_refused():
    with pytest.raises(errors.BadArgumentError, match="Exactly one of num_units"):
        rnn.GRUBlockCell()
    with pytest.raises(errors.BadArgumentError, match="output_size must be > 0"):
        rnn.OutputProjectionWrapper(rnn_cell.GRUCell(2), 0)
    fused = rnn.LSTMBlockFusedCell(2)
    with pytest.raises(errors.BadArgumentError, match="shape \\(time, batch, size\\)"):
        fused(jnp.ones((2, 3)), dtype="float32")
    with pytest.raises(errors.BadArgumentError, match="initial_state or dtype"):
        fused(jnp.ones((2, 3, 4)))
    with pytest.raises(errors.BadArgumentError, match="lists of cells"):
        rnn.stack_bidirectional_dynamic_rnn(rnn_cell.GRUCell(2), rnn_cell.GRUCell(2), X)
    with pytest.raises(errors.BadArgumentError, match="the same depth"):
        rnn.stack_bidirectional_rnn([rnn_cell.GRUCell(2)], [], [X])
