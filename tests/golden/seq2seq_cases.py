"""What `make_seq2seq.py` asks TensorFlow 1.15 and the tests ask Stratax: `tf.contrib.seq2seq`.

Read by both, so neither TensorFlow nor Stratax is imported here.
"""

import numpy as np

BATCH, TIME, DEPTH, UNITS, CLASSES = 3, 5, 4, 6, 7
LENGTHS = np.int32([5, 2, 4])
MEMORY_LENGTHS = np.int32([3, 1, 2])
START, END = np.int32([1, 2, 3]), 0


def weights(shape, dtype=None, partition_info=None):
    """Initializer of all variables: no two elements alike."""
    return (
        (1.5 * np.cos(1.0 + 3 * np.arange(np.prod(shape))))
        .reshape([int(n) for n in shape])
        .astype(np.float32)
    )


def _random(seed, shape):
    return np.random.RandomState(seed).normal(size=shape).astype(np.float32)


INPUTS = _random(0, (BATCH, TIME, DEPTH))
MEMORY = _random(1, (BATCH, 3, 5))
TABLE = _random(2, (CLASSES, DEPTH))
TARGETS = np.random.RandomState(3).randint(0, CLASSES, (BATCH, TIME))


def _decoded(tf, decoder, **arguments):
    outputs, state, lengths = tf.contrib.seq2seq.dynamic_decode(decoder, **arguments)
    return outputs, state, lengths


def _training(tf, cell, state=None, is_time_major=False, **arguments):
    seq2seq = tf.contrib.seq2seq
    inputs = INPUTS.transpose(1, 0, 2) if is_time_major else INPUTS
    helper = seq2seq.TrainingHelper(tf.constant(inputs), tf.constant(LENGTHS), time_major=is_time_major)
    first = cell.zero_state(BATCH, tf.float32) if state is None else state
    decoder = seq2seq.BasicDecoder(cell, helper, first, output_layer=tf.layers.Dense(CLASSES))
    outputs, state, lengths = _decoded(tf, decoder, output_time_major=is_time_major, **arguments)
    return outputs.rnn_output, outputs.sample_id, lengths, state


def _plain(tf):
    return _training(tf, tf.nn.rnn_cell.BasicLSTMCell(UNITS), impute_finished=True)


def _time_major(tf):
    outputs, ids, lengths, _ = _training(tf, tf.nn.rnn_cell.GRUCell(UNITS), is_time_major=True)
    return outputs, ids, lengths


def _limited(tf):
    outputs, _, lengths, _ = _training(tf, tf.nn.rnn_cell.GRUCell(UNITS), maximum_iterations=3)
    return outputs, lengths


def _loss(tf):
    outputs, _, lengths, _ = _training(tf, tf.nn.rnn_cell.GRUCell(UNITS), impute_finished=True)
    seq2seq, targets = tf.contrib.seq2seq, tf.constant(TARGETS)
    factors = tf.sequence_mask(lengths, TIME, dtype=tf.float32)
    return (
        seq2seq.sequence_loss(outputs, targets, factors),
        seq2seq.sequence_loss(outputs, targets, factors, average_across_batch=False),
        seq2seq.sequence_loss(outputs, targets, factors, average_across_timesteps=False),
        seq2seq.sequence_loss(outputs, targets, factors, False, False),
        seq2seq.sequence_loss(outputs, targets, factors, False, False, True, True),
        seq2seq.sequence_loss(outputs, targets, factors, False, False, sum_over_batch=True),
    )


def _greedy(tf):
    seq2seq = tf.contrib.seq2seq
    helper = seq2seq.GreedyEmbeddingHelper(tf.constant(TABLE), tf.constant(START), END)
    cell = tf.nn.rnn_cell.GRUCell(UNITS)
    layer = tf.layers.Dense(CLASSES, use_bias=False, name="projection")
    decoder = seq2seq.BasicDecoder(cell, helper, cell.zero_state(BATCH, tf.float32), layer)
    outputs, _, lengths = _decoded(tf, decoder, maximum_iterations=6)
    return outputs.sample_id, outputs.rnn_output, lengths


def _attention(tf, make, num_beams=1, **arguments):
    seq2seq = tf.contrib.seq2seq
    memory, lengths = tf.constant(MEMORY), tf.constant(MEMORY_LENGTHS)
    if num_beams > 1:
        memory, lengths = seq2seq.tile_batch(memory, num_beams), seq2seq.tile_batch(lengths, num_beams)
    mechanism = make(seq2seq, memory, lengths)
    return seq2seq.AttentionWrapper(tf.nn.rnn_cell.BasicLSTMCell(UNITS), mechanism, **arguments)


def _luong(tf):
    cell = _attention(
        tf, lambda s, *memory: s.LuongAttention(UNITS, *memory, scale=True), attention_layer_size=5
    )
    outputs, ids, lengths, state = _training(tf, cell)
    return outputs, ids, lengths, state.attention, state.alignments, state.cell_state.h


def _bahdanau(tf):
    cell = _attention(tf, lambda s, *memory: s.BahdanauAttention(4, *memory))
    first = cell.zero_state(BATCH, tf.float32).clone(
        cell_state=tf.nn.rnn_cell.LSTMStateTuple(
            tf.constant(INPUTS[:, 0, :1] * np.ones(UNITS, "f4")), tf.zeros([BATCH, UNITS])
        )
    )
    outputs, ids, lengths, state = _training(tf, cell, first, impute_finished=True)
    return outputs, ids, lengths, state.attention, state.time


def _normalized(tf):
    def both(s, *memory):
        return [s.BahdanauAttention(4, *memory, normalize=True), s.LuongAttention(UNITS, *memory)]

    cell = _attention(tf, both, attention_layer_size=[3, 2], output_attention=False)
    outputs, _, _, state = _training(tf, cell)
    return outputs, state.alignments[0], state.alignments[1]


def _beam(tf, weight=0.0, steps=6):
    seq2seq, beams = tf.contrib.seq2seq, 3
    cell = _attention(tf, lambda s, *m: s.LuongAttention(UNITS, *m), beams, attention_layer_size=5)
    decoder = seq2seq.BeamSearchDecoder(
        cell,
        tf.constant(TABLE),
        tf.constant(START),
        END,
        cell.zero_state(BATCH * beams, tf.float32),
        beams,
        tf.layers.Dense(CLASSES, use_bias=False),
        length_penalty_weight=weight,
    )
    outputs, state, lengths = _decoded(tf, decoder, maximum_iterations=steps)
    return outputs.predicted_ids, state.log_probs, state.lengths, lengths


def _gathered(tf):
    ids = np.int32([[[1, 2, 3]], [[4, 0, 6]], [[7, 8, 9]]])
    parents = np.int32([[[0, 0, 0]], [[0, 1, 1]], [[2, 1, 2]]])
    return (
        tf.contrib.seq2seq.gather_tree(ids, parents, np.int32([3]), 0),
        tf.contrib.seq2seq.gather_tree(ids, parents, np.int32([2]), 0),
        tf.contrib.seq2seq.hardmax(tf.constant(INPUTS[0])),
    )


CASES = {
    "plain": _plain,
    "time_major": _time_major,
    "limited": _limited,
    "loss": _loss,
    "greedy": _greedy,
    "luong": _luong,
    "bahdanau": _bahdanau,
    "normalized": _normalized,
    "beam": _beam,
    "beam_long": lambda tf: _beam(tf, 0.8),
    "gathered": _gathered,
}


def flat(values):
    """Return the tensors of a nested structure, in order."""
    if isinstance(values, (list, tuple)):
        return [each for part in values for each in flat(part)]
    return [values]
