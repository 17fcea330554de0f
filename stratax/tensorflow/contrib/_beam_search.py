"""`tf.contrib.seq2seq`'s beam search."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from stratax import errors
from stratax.base.shown import shown
from stratax.tensorflow.contrib._seq2seq import Decoder
from stratax.tensorflow.contrib._seq2seq_helpers import Embedding, embedding_function
from stratax.tensorflow.ops.calls.creation import on_device


class BeamSearchDecoderState(NamedTuple):
    """What a beam search goes on with.

    Attributes:
        cell_state: The cell's states, shape `(batch, beams, ...)`.
        log_probs: The beams' log-probabilities.
        finished: Which beams are.
        lengths: How many steps each beam had.
        accumulated_attention_probs: Nothing: coverage is not measured.
    """

    cell_state: Any
    log_probs: Any
    finished: Any
    lengths: Any
    accumulated_attention_probs: Any = ()


class BeamSearchDecoderOutput(NamedTuple):
    """What a step of a beam search gives, each of shape `(batch, beams)`.

    Attributes:
        scores: The beams' scores.
        predicted_ids: The ids that were added.
        parent_ids: To which beams.
    """

    scores: Any
    predicted_ids: Any
    parent_ids: Any


class FinalBeamSearchDecoderOutput(NamedTuple):
    """What a beam search gives.

    Attributes:
        predicted_ids: The beams, best first, shape `(batch, time, beams)`.
        beam_search_decoder_output: What its steps gave.
    """

    predicted_ids: Any
    beam_search_decoder_output: BeamSearchDecoderOutput


def tile_batch(t: object, multiplier: int, name: str | None = None) -> Any:
    """Return tensors with each row several times, as `tf.contrib.seq2seq.tile_batch`.

    Args:
        t: A tensor, or a structure of them.
        multiplier: How many times.
        name: Ignored.
    """
    return jax.tree.map(lambda each: jnp.repeat(on_device(each), multiplier, axis=0), t)


def gather_tree(
    step_ids: Any, parent_ids: Any, max_sequence_lengths: Any, end_token: Any, name: str | None = None
) -> Any:
    """Return whole beams, by the ids and parents of their steps, as `tf.contrib.seq2seq.gather_tree`.

    Args:
        step_ids: Shape `(time, batch, beams)`.
        parent_ids: Likewise: to which beam each id was added.
        max_sequence_lengths: How many steps an example has, shape `(batch,)`.
        end_token: What stands behind a beam's end.
        name: Ignored.
    """
    ids, parents = on_device(step_ids), on_device(parent_ids)
    lengths, end = on_device(max_sequence_lengths)[:, None], on_device(end_token).astype(ids.dtype)
    beams = jnp.broadcast_to(jnp.arange(ids.shape[2]), ids.shape[1:])

    def back(beam: Any, row: Any) -> Any:
        time, step, parent = row
        is_there = time < lengths
        found = jnp.where(is_there, jnp.take_along_axis(step, beam, 1), end)
        return jnp.where(is_there, jnp.take_along_axis(parent, beam, 1), beam), found

    rows = (jnp.arange(ids.shape[0]), ids, parents)
    _, found = jax.lax.scan(back, beams, rows, reverse=True)
    ends = jnp.cumsum(found == end, 0) - (found == end)
    return jnp.where(ends > 0, end, found)


class BeamSearchDecoder(Decoder):
    """Follows the likeliest sequences, as `tf.contrib.seq2seq.BeamSearchDecoder`.

    Args:
        cell: The cell.
        embedding: A table, or a function of ids.
        start_tokens: The first id of each example.
        end_token: The id that ends a beam.
        initial_state: The cell's first state, each row `beam_width` times: see `tile_batch`.
        beam_width: How many beams are followed.
        output_layer: Applied to the cell's outputs; None for none.
        length_penalty_weight: By how much longer beams are preferred (Wu et al., 2016).
        coverage_penalty_weight: Must be 0.
        reorder_tensor_arrays: Ignored.

    Raises:
        BadArgumentError: If an argument has another shape, or is not supported.
    """

    tracks_own_finished = True

    def __init__(
        self,
        cell: Any,
        embedding: Embedding,
        start_tokens: Any,
        end_token: Any,
        initial_state: Any,
        beam_width: int,
        output_layer: Any = None,
        length_penalty_weight: float = 0.0,
        coverage_penalty_weight: float = 0.0,
        reorder_tensor_arrays: bool = True,
    ) -> None:
        if coverage_penalty_weight != 0:
            raise errors.BadArgumentError(
                "BeamSearchDecoder does not support coverage_penalty_weight. Expected: 0. Received: "
                f"{shown(coverage_penalty_weight)}."
            )
        self._cell, self._embed = cell, embedding_function(embedding)
        self._start_tokens = on_device(start_tokens).astype(jnp.int32)
        self._end_token = on_device(end_token).astype(jnp.int32)
        if self._start_tokens.ndim != 1:
            raise errors.BadArgumentError("start_tokens must be a vector")
        if self._end_token.ndim != 0:
            raise errors.BadArgumentError("end_token must be a scalar")
        self._width = int(beam_width)
        self._output_layer = output_layer
        self._length_penalty_weight = length_penalty_weight
        self._first_state = jax.tree.map(self._split, jax.tree.map(on_device, initial_state))

    @property
    def batch_size(self) -> Any:
        """How many examples there are."""
        return self._start_tokens.shape[0]

    def _split(self, leaf: Any) -> Any:
        if leaf.ndim == 0:
            return leaf
        if leaf.shape[0] != self.batch_size * self._width:
            raise errors.BadArgumentError(
                f"A state has beam_width rows for each example, {self.batch_size} x {self._width}. Received: shape "
                f"{tuple(leaf.shape)}. Use tile_batch."
            )
        return leaf.reshape(self.batch_size, self._width, *leaf.shape[1:])

    def _merge(self, leaf: Any) -> Any:
        return leaf.reshape(-1, *leaf.shape[2:]) if leaf.ndim else leaf

    def initialize(self, name: str | None = None) -> Any:
        """Return that only the first beam of each example is there, and its inputs and state."""
        shape = (self.batch_size, self._width)
        is_first = jnp.broadcast_to(jnp.arange(self._width) == 0, shape)
        dtype = jax.tree.leaves(self._first_state)[0].dtype
        state = BeamSearchDecoderState(
            cell_state=self._first_state,
            log_probs=jnp.where(is_first, 0, -jnp.inf).astype(dtype),
            finished=~is_first,
            lengths=jnp.zeros(shape, jnp.int32),
        )
        tokens = jnp.broadcast_to(self._start_tokens[:, None], shape)
        return ~is_first, on_device(self._embed(tokens)), state

    def step(self, time: Any, inputs: Any, state: Any, name: str | None = None) -> Any:
        """Run one step of the cell for all beams, and choose the best."""
        outputs, cell_state = self._cell(
            jax.tree.map(self._merge, inputs), jax.tree.map(self._merge, state.cell_state)
        )
        if self._output_layer is not None:
            outputs = self._output_layer(outputs)
        logits = self._split(on_device(outputs))
        cell_state = jax.tree.map(lambda each: self._split(on_device(each)), cell_state)
        made, following = self._choose(logits, cell_state, state)
        return made, following, on_device(self._embed(made.predicted_ids)), following.finished

    def _choose(
        self, logits: Any, cell_state: Any, state: BeamSearchDecoderState
    ) -> tuple[BeamSearchDecoderOutput, BeamSearchDecoderState]:
        num_classes = logits.shape[-1]
        is_end = jnp.arange(num_classes) == self._end_token
        step = jax.nn.log_softmax(logits)
        # A finished beam goes on with the end alone, which costs nothing.
        ended = jnp.where(is_end, 0, jnp.finfo(step.dtype).min)
        step = jnp.where(state.finished[..., None], ended, step)
        totals = state.log_probs[..., None] + step
        longer = ~is_end & ~state.finished[..., None]
        scores = totals / self._length_penalty(state.lengths[..., None] + longer)
        best, places = jax.lax.top_k(scores.reshape(self.batch_size, -1), self._width)
        ids, parents = (places % num_classes).astype(jnp.int32), (places // num_classes).astype(jnp.int32)

        def of_parents(leaf: Any) -> Any:
            if leaf.ndim < 2:
                return leaf
            return jnp.take_along_axis(leaf, parents.reshape(*parents.shape, *[1] * (leaf.ndim - 2)), 1)

        was_finished = of_parents(state.finished)
        following = BeamSearchDecoderState(
            cell_state=jax.tree.map(of_parents, cell_state),
            log_probs=jnp.take_along_axis(totals.reshape(self.batch_size, -1), places, 1),
            finished=was_finished | (ids == self._end_token),
            lengths=of_parents(state.lengths) + ~was_finished,
        )
        return BeamSearchDecoderOutput(best, ids, parents), following

    def _length_penalty(self, lengths: Any) -> Any:
        if self._length_penalty_weight == 0:
            return 1.0
        return ((5.0 + lengths.astype(jnp.float32)) / 6.0) ** self._length_penalty_weight

    def finalize(self, outputs: Any, final_state: Any, sequence_lengths: Any) -> Any:
        """Return whole beams beside what the steps gave."""
        longest = jnp.max(final_state.lengths, 1)
        beams = gather_tree(outputs.predicted_ids, outputs.parent_ids, longest, self._end_token)
        return FinalBeamSearchDecoderOutput(beams, outputs), final_state
