"""Decoders, attention and beam search give what TensorFlow 1.15's give: `tests/golden/seq2seq_cases.py`."""

import os

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import stratax.tf as tf
from stratax import errors
from stratax.tensorflow import v1
from tests.golden import seq2seq_cases as cases
from tests.tensorflow.v1.steps import Step

seq2seq = tf.contrib.seq2seq
_GOLDEN = np.load(os.path.join(os.path.dirname(cases.__file__), "seq2seq.npz"))


@pytest.mark.parametrize("name", cases.CASES)
def test_results_are_tensorflows(name):
    def body(scope, x):
        with v1.variable_scope("model", initializer=cases.weights):
            return tuple(map(jnp.asarray, cases.flat(cases.CASES[name](tf))))

    step = Step(body)
    found = step(np.float32(0))
    assert sorted(step.names) == sorted(_GOLDEN[f"{name}/names"])
    for index, value in enumerate(found):
        wanted = _GOLDEN[f"{name}/{index}"]
        np.testing.assert_allclose(value, wanted, rtol=1e-4, atol=1e-5, err_msg=f"{name}/{index}")


def greedy(start, end, most, **arguments):
    helper = seq2seq.GreedyEmbeddingHelper(jnp.asarray(cases.TABLE), jnp.asarray(start), end)
    cell = v1.rnn_cell.GRUCell(cases.UNITS)
    decoder = seq2seq.BasicDecoder(
        cell, helper, cell.zero_state(len(start), "float32"), v1.layers.Dense(cases.CLASSES, use_bias=False)
    )
    return seq2seq.dynamic_decode(decoder, maximum_iterations=most, **arguments)


def test_steps_behind_the_last_end_are_zeros():
    # The second example of the golden greedy one ends with its second step.
    def body(scope, x):
        with v1.variable_scope("model", initializer=cases.weights):
            outputs, _, lengths = greedy(cases.START[1:2], 0, 6)
        return outputs.sample_id, outputs.rnn_output, lengths

    ids, outputs, lengths = Step(body)(np.float32(0))
    assert (ids.tolist(), lengths.tolist()) == ([[5, 0, 0, 0, 0, 0]], [2])
    assert not np.any(outputs[:, 2:])
    np.testing.assert_allclose(outputs[:, :2], _GOLDEN["greedy/1"][1:2, :2], rtol=1e-4)


def test_gradients_reach_the_memory():
    def body(scope, x):
        mechanism = seq2seq.BahdanauAttention(4, x)
        cell = seq2seq.AttentionWrapper(v1.rnn_cell.GRUCell(6), mechanism, attention_layer_size=5)
        lengths = jnp.asarray(cases.LENGTHS)
        helper = seq2seq.TrainingHelper(jnp.asarray(cases.INPUTS), lengths)
        decoder = seq2seq.BasicDecoder(cell, helper, cell.zero_state(3, "float32"))
        outputs, _, _ = seq2seq.dynamic_decode(decoder)
        return v1.gradients(tf.reduce_sum(outputs.rnn_output), [x])[0]

    found = Step(body)(cases.MEMORY)
    assert found.shape == cases.MEMORY.shape
    assert np.all(np.any(found != 0, axis=-1))


def sampled(make):
    def body(scope, x):
        cell = v1.rnn_cell.GRUCell(cases.UNITS)
        decoder = seq2seq.BasicDecoder(
            cell, make(), cell.zero_state(cases.BATCH, "float32"), v1.layers.Dense(cases.CLASSES)
        )
        outputs, _, _ = seq2seq.dynamic_decode(decoder, maximum_iterations=5)
        return outputs.sample_id, outputs.rnn_output

    return Step(body)(np.float32(0))


def test_ids_are_drawn():
    table = jnp.asarray(cases.TABLE)
    # At so low a temperature the largest output is drawn.
    ids, outputs = sampled(
        lambda: seq2seq.SampleEmbeddingHelper(table, jnp.asarray(cases.START), 99, 1e-6, 1)
    )
    np.testing.assert_array_equal(ids, np.argmax(outputs, -1))


@pytest.mark.parametrize(("chance", "is_read"), [(0.0, True), (1.0, False)])
def test_what_was_chosen_is_read_by_chance(chance, is_read):
    def make():
        inputs, lengths = jnp.asarray(cases.INPUTS), jnp.full(cases.BATCH, cases.TIME)
        return seq2seq.ScheduledEmbeddingTrainingHelper(inputs, lengths, jnp.asarray(cases.TABLE), chance)

    ids, outputs = sampled(make)
    assert outputs.shape == (cases.BATCH, cases.TIME, cases.CLASSES)
    assert np.all(ids == -1) == is_read


def test_functions_give_inputs():
    inputs = jnp.asarray(cases.INPUTS)

    def custom():
        return seq2seq.CustomHelper(
            initialize_fn=lambda: (jnp.zeros(cases.BATCH, bool), inputs[:, 0]),
            sample_fn=lambda time, outputs, state: jnp.argmax(outputs, -1),
            next_inputs_fn=lambda time, outputs, state, sample_ids: (sample_ids < 0, inputs[:, 1], state),
        )

    def inference():
        return seq2seq.InferenceHelper(
            sample_fn=lambda outputs: jnp.argmax(outputs, -1),
            sample_shape=[],
            sample_dtype=tf.int32,
            start_inputs=inputs[:, 0],
            end_fn=lambda ids: ids < 0,
            next_inputs_fn=lambda ids: inputs[:, 1],
        )

    assert sampled(custom)[0].shape == sampled(inference)[0].shape == (cases.BATCH, 5)
    with pytest.raises(errors.BadArgumentError, match="before initialize"):
        _ = custom().batch_size


def test_what_can_not_be_decoded_is_refused():
    table, start = jnp.asarray(cases.TABLE), jnp.asarray(cases.START)

    def body(scope, x):
        with pytest.raises(errors.BadArgumentError, match="needs a bound"):
            greedy(cases.START, 0, None)
        with pytest.raises(errors.BadTypeError, match="type Decoder"):
            seq2seq.dynamic_decode(3)
        with pytest.raises(errors.BadTypeError, match="must be a Helper"):
            seq2seq.BasicDecoder(None, 3, None)
        with pytest.raises(errors.BadArgumentError, match="start_tokens must be a vector"):
            seq2seq.GreedyEmbeddingHelper(table, start[0], 0)
        with pytest.raises(errors.BadArgumentError, match="end_token must be a scalar"):
            seq2seq.GreedyEmbeddingHelper(table, start, start)
        with pytest.raises(errors.BadArgumentError, match="to be a vector"):
            seq2seq.TrainingHelper(jnp.asarray(cases.INPUTS), 3)
        cell = v1.rnn_cell.GRUCell(cases.UNITS)
        mechanism = seq2seq.LuongAttention(4, x)
        with pytest.raises(errors.BadArgumentError, match="Incompatible or unknown inner"):
            mechanism(jnp.zeros((3, 6)), None)
        with pytest.raises(errors.BadTypeError, match="must be an AttentionMechanism"):
            seq2seq.AttentionWrapper(cell, 3)
        with pytest.raises(errors.BadArgumentError, match="does not support alignment_history"):
            seq2seq.AttentionWrapper(cell, mechanism, alignment_history=True)
        with pytest.raises(errors.BadArgumentError, match="exactly one integer per"):
            seq2seq.AttentionWrapper(cell, mechanism, attention_layer_size=[1, 2])
        with pytest.raises(errors.BadArgumentError, match="Only one of"):
            seq2seq.AttentionWrapper(cell, mechanism, attention_layer_size=1, attention_layer=cell)
        wrapper = seq2seq.AttentionWrapper(cell, mechanism)
        with pytest.raises(errors.BadTypeError, match="instance of AttentionWrapperState"):
            wrapper(jnp.zeros((3, 4)), jnp.zeros((3, 6)))
        with pytest.raises(errors.BadArgumentError, match="same as the one to clone"):
            wrapper.zero_state(3, "float32").clone(cell_state=jnp.zeros((3, 5)))
        with pytest.raises(errors.BadArgumentError, match="Use tile_batch"):
            seq2seq.BeamSearchDecoder(cell, table, start, 0, jnp.zeros((3, 6)), 2)
        with pytest.raises(errors.BadArgumentError, match="coverage_penalty_weight"):
            seq2seq.BeamSearchDecoder(
                cell, table, start, 0, jnp.zeros((6, 6)), 2, coverage_penalty_weight=1.0
            )
        return x

    Step(body)(cases.MEMORY)


def test_a_loss_of_other_shapes_is_refused():
    logits, ids, ones = np.zeros((2, 3, 4), "f4"), np.zeros((2, 3), "i4"), np.ones((2, 3), "f4")
    for given, what in (
        ((ids, ids, ones), "Logits"),
        ((logits, ids[0], ones), "Targets"),
        ((logits, ids, ones[0]), "Weights"),
    ):
        with pytest.raises(errors.BadArgumentError, match=f"{what} must be a"):
            seq2seq.sequence_loss(*given)
    with pytest.raises(errors.BadArgumentError, match="cannot be set to True at same time"):
        seq2seq.sequence_loss(logits, ids, ones, sum_over_batch=True)
    assert jax.tree.leaves(seq2seq.tile_batch({"a": ids}, 2))[0].shape == (4, 3)
