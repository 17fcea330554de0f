"""Linear-chain conditional random fields: `tf.contrib.crf`."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from stratax.base.recording import composite
from stratax.base.typing import TensorLike
from stratax.tensorflow import v1
from stratax.tensorflow.ops.arrays.indexing import reverse_sequence
from stratax.tensorflow.ops.calls.creation import on_device
from stratax.tensorflow.v1 import nn
from stratax.tensorflow.v1.rnn_cell import RNNCell


def _mask(lengths: object, steps: int) -> Any:
    return jnp.arange(steps) < on_device(lengths)[:, None]


@composite
def crf_unary_score(tag_indices: TensorLike, sequence_lengths: TensorLike, inputs: TensorLike) -> Any:
    """Return the sum of the tags' own scores, as `tf.contrib.crf.crf_unary_score`.

    Args:
        tag_indices: Tags, shape `(batch, time)`.
        sequence_lengths: How many steps each example has.
        inputs: The scores of all tags, shape `(batch, time, tags)`.

    Returns:
        A number for each example.
    """
    scores, tags = on_device(inputs), on_device(tag_indices)
    found = jnp.take_along_axis(scores, tags[:, :, None], 2)[:, :, 0]
    return jnp.sum(found * _mask(sequence_lengths, tags.shape[1]), 1)


@composite
def crf_binary_score(
    tag_indices: TensorLike, sequence_lengths: TensorLike, transition_params: TensorLike
) -> Any:
    """Return the sum of the scores of each tag behind another, as `tf.contrib.crf.crf_binary_score`.

    Args:
        tag_indices: Tags, shape `(batch, time)`.
        sequence_lengths: How many steps each example has.
        transition_params: The scores, by the tags before and behind, shape `(tags, tags)`.

    Returns:
        A number for each example.
    """
    tags = on_device(tag_indices)
    found = on_device(transition_params)[tags[:, :-1], tags[:, 1:]]
    return jnp.sum(found * _mask(sequence_lengths, tags.shape[1])[:, 1:], 1)


@composite
def crf_sequence_score(
    inputs: TensorLike, tag_indices: TensorLike, sequence_lengths: TensorLike, transition_params: TensorLike
) -> Any:
    """Return the unnormalized scores of sequences of tags, as `tf.contrib.crf.crf_sequence_score`.

    Args:
        inputs: The scores of all tags, shape `(batch, time, tags)`.
        tag_indices: Tags, shape `(batch, time)`.
        sequence_lengths: How many steps each example has.
        transition_params: The scores of each tag behind another, shape `(tags, tags)`.

    Returns:
        A number for each example.
    """
    return crf_unary_score(tag_indices, sequence_lengths, inputs) + crf_binary_score(
        tag_indices, sequence_lengths, transition_params
    )


@composite
def crf_multitag_sequence_score(
    inputs: TensorLike, tag_bitmap: TensorLike, sequence_lengths: TensorLike, transition_params: TensorLike
) -> Any:
    """Return the scores of all sequences of allowed tags, as `tf.contrib.crf.crf_multitag_sequence_score`.

    Args:
        inputs: The scores of all tags, shape `(batch, time, tags)`.
        tag_bitmap: Which tags are allowed, booleans of that shape.
        sequence_lengths: How many steps each example has.
        transition_params: The scores of each tag behind another, shape `(tags, tags)`.

    Returns:
        A number for each example.
    """
    allowed = jnp.where(on_device(tag_bitmap), on_device(inputs), -jnp.inf)
    return crf_log_norm(allowed, sequence_lengths, transition_params)


class CrfForwardRnnCell(RNNCell):
    """Sums up the scores of all sequences so far, by their last tag, as `tf.contrib.crf.CrfForwardRnnCell`.

    Args:
        transition_params: The scores of each tag behind another, shape `(tags, tags)`.
    """

    def __init__(self, transition_params: TensorLike) -> None:
        super().__init__()
        self._transitions = on_device(transition_params)[None]

    @property
    def state_size(self) -> int:
        """The number of tags."""
        return int(self._transitions.shape[-1])

    @property
    def output_size(self) -> int:
        """The number of tags."""
        return self.state_size

    def __call__(self, inputs: Any, state: Any, scope: Any = None, *args: Any, **kwargs: Any) -> Any:
        """Add a step's scores."""
        new = inputs + jax.nn.logsumexp(state[:, :, None] + self._transitions, axis=1)
        return new, new


def _rest(scores: Any, lengths: Any) -> tuple[Any, Any, Any]:
    """Return the first step's scores, those of the others, and how many others there are.

    Behind the others is one that is none of them, so that there is one also if nobody knows how many there are.
    """
    others = jnp.concatenate([scores[:, 1:], scores[:, :1]], 1)
    return scores[:, 0], others, jnp.maximum(0, on_device(lengths) - 1)


@composite
def crf_log_norm(inputs: TensorLike, sequence_lengths: TensorLike, transition_params: TensorLike) -> Any:
    """Return the logarithm of the sum over all sequences of tags, as `tf.contrib.crf.crf_log_norm`.

    Args:
        inputs: The scores of all tags, shape `(batch, time, tags)`.
        sequence_lengths: How many steps each example has.
        transition_params: The scores of each tag behind another, shape `(tags, tags)`.

    Returns:
        A number for each example; 0 where it has no steps.
    """
    first, rest, lengths = _rest(on_device(inputs), sequence_lengths)
    _, first = nn.dynamic_rnn(CrfForwardRnnCell(transition_params), rest, lengths, first)
    return jnp.where(on_device(sequence_lengths) <= 0, 0.0, jax.nn.logsumexp(first, axis=1))


@composite
def crf_log_likelihood(
    inputs: TensorLike,
    tag_indices: TensorLike,
    sequence_lengths: TensorLike,
    transition_params: TensorLike | None = None,
) -> tuple[Any, Any]:
    """Return the logarithms of the tags' probabilities, as `tf.contrib.crf.crf_log_likelihood`.

    Args:
        inputs: The scores of all tags, shape `(batch, time, tags)`.
        tag_indices: Tags, shape `(batch, time)`.
        sequence_lengths: How many steps each example has.
        transition_params: The scores of each tag behind another, shape `(tags, tags)`; by default a variable
            `transitions` of the variable scope.

    Returns:
        A number for each example, and the scores of each tag behind another.
    """
    if transition_params is None:
        count = int(np.shape(inputs)[2])
        transition_params = v1.get_variable("transitions", [count, count])
    score = crf_sequence_score(inputs, tag_indices, sequence_lengths, transition_params)
    return score - crf_log_norm(inputs, sequence_lengths, transition_params), transition_params


class _Forward(CrfForwardRnnCell):
    """Finds the best sequences so far, by their last tag; gives the tags before."""

    def __call__(self, inputs: Any, state: Any, scope: Any = None, *args: Any, **kwargs: Any) -> Any:
        scores = state[:, :, None] + self._transitions
        return jnp.argmax(scores, 1).astype(jnp.int32), inputs + jnp.max(scores, 1)


class _Backward(RNNCell):
    """Goes back from tag to tag."""

    state_size = output_size = 1

    def __init__(self) -> None:
        super().__init__()

    def __call__(self, inputs: Any, state: Any, scope: Any = None, *args: Any, **kwargs: Any) -> Any:
        tags = jnp.take_along_axis(inputs, state, 1)
        return tags, tags


@composite
def crf_decode(
    potentials: TensorLike, transition_params: TensorLike, sequence_length: TensorLike
) -> tuple[Any, Any]:
    """Return the sequences of tags of the highest scores, as `tf.contrib.crf.crf_decode`.

    Args:
        potentials: The scores of all tags, shape `(batch, time, tags)`.
        transition_params: The scores of each tag behind another, shape `(tags, tags)`.
        sequence_length: How many steps each example has.

    Returns:
        The tags, int32 of shape `(batch, time)`, 0 behind the end of a sequence, and their scores.
    """
    first, rest, lengths = _rest(on_device(potentials), sequence_length)
    before, scores = nn.dynamic_rnn(_Forward(transition_params), rest, lengths, first)
    last = jnp.argmax(scores, 1).astype(jnp.int32)[:, None]
    tags, _ = nn.dynamic_rnn(_Backward(), reverse_sequence(before, lengths, 1), lengths, last)
    found = jnp.concatenate([last, tags[:, :-1, 0]], 1)
    return reverse_sequence(found, sequence_length, 1), jnp.max(scores, 1)


def viterbi_decode(score: np.ndarray, transition_params: np.ndarray) -> tuple[Sequence[int], Any]:
    """Return the tags of the highest score of one sequence on the host, as `tf.contrib.crf.viterbi_decode`.

    Args:
        score: The scores of all tags, shape `(time, tags)`.
        transition_params: The scores of each tag behind another, shape `(tags, tags)`.

    Returns:
        The tags in a list, and their score.
    """
    score = np.asarray(score)
    best, before = score[0], []
    for step in score[1:]:
        scores = best[:, None] + np.asarray(transition_params)
        before.append(scores.argmax(0))
        best = step + scores.max(0)
    tags = [best.argmax()]
    for pointers in reversed(before):
        tags.append(pointers[tags[-1]])
    return tags[::-1], best.max()
