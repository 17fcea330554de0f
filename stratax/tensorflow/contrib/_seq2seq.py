"""`tf.contrib.seq2seq`: decoders, run through time, and the loss of sequences."""

import abc
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from stratax import errors
from stratax.base.recording import recordable
from stratax.base.shown import shown
from stratax.core import control
from stratax.data.elements import if_constant
from stratax.tensorflow import v1
from stratax.tensorflow.contrib._seq2seq_helpers import Helper
from stratax.tensorflow.ops.calls.creation import on_device
from stratax.tensorflow.ops.nn import nn


class Decoder(abc.ABC):
    """Computes one step after the other, as `tf.contrib.seq2seq.Decoder`: base class of decoders.

    Attributes:
        most_steps: How many steps there are at most; None if nothing says so.
        tracks_own_finished: Whether `step` says of all examples which are finished, also of those that were.
    """

    most_steps: int | None = None
    tracks_own_finished: bool = False

    @abc.abstractmethod
    def initialize(self, name: str | None = None) -> Any:
        """Return which examples are finished at once, the first inputs and the first state.

        Args:
            name: Ignored.
        """

    @abc.abstractmethod
    def step(self, time: Any, inputs: Any, state: Any, name: str | None = None) -> Any:
        """Return the step's outputs, the next state, the next inputs, and which examples are finished.

        Args:
            time: The step's number.
            inputs: The step's inputs.
            state: The state before it.
            name: Ignored.
        """

    def finalize(self, outputs: Any, final_state: Any, sequence_lengths: Any) -> Any:
        """Return what becomes of the outputs of all steps, and of the last state.

        Args:
            outputs: Shape `(time, batch, ...)`.
            final_state: The last state.
            sequence_lengths: How many steps each example had.
        """
        return outputs, final_state


class BasicDecoderOutput(NamedTuple):
    """What a step of a BasicDecoder gives.

    Attributes:
        rnn_output: The cell's outputs.
        sample_id: The ids that the helper has chosen.
    """

    rnn_output: Any
    sample_id: Any


class BasicDecoder(Decoder):
    """Runs a cell on what a helper gives, as `tf.contrib.seq2seq.BasicDecoder`.

    Args:
        cell: The cell.
        helper: Gives inputs.
        initial_state: The first state.
        output_layer: Applied to the cell's outputs; None for none.

    Raises:
        BadTypeError: If `helper` is none.
    """

    def __init__(self, cell: Any, helper: Helper, initial_state: Any, output_layer: Any = None) -> None:
        if not isinstance(helper, Helper):
            raise errors.BadTypeError(f"helper must be a Helper, received: {shown(type(helper))}")
        self._cell, self._helper = cell, helper
        self._initial_state, self._output_layer = initial_state, output_layer
        self.most_steps = helper.most_steps

    @property
    def batch_size(self) -> Any:
        """How many examples there are."""
        return self._helper.batch_size

    def initialize(self, name: str | None = None) -> Any:
        """Return what the helper begins with, and the first state."""
        return (*self._helper.initialize(), self._initial_state)

    def step(self, time: Any, inputs: Any, state: Any, name: str | None = None) -> Any:
        """Run one step of the cell."""
        outputs, state = self._cell(inputs, state)
        if self._output_layer is not None:
            outputs = self._output_layer(outputs)
        sample_ids = self._helper.sample(time=time, outputs=outputs, state=state)
        finished, inputs, state = self._helper.next_inputs(
            time=time, outputs=outputs, state=state, sample_ids=sample_ids
        )
        return BasicDecoderOutput(outputs, sample_ids), state, inputs, finished


def dynamic_decode(
    decoder: Decoder,
    output_time_major: bool = False,
    impute_finished: bool = False,
    maximum_iterations: Any = None,
    parallel_iterations: int = 32,
    swap_memory: bool = False,
    scope: Any = None,
) -> tuple[Any, Any, Any]:
    """Run a decoder through time, as `tf.contrib.seq2seq.dynamic_decode`.

    TensorFlow's ends when all examples are finished, so the outputs' time differs from batch to batch. Here it is the
    same: that of the inputs, or `maximum_iterations`; behind the last example's end outputs are zeros.

    Args:
        decoder: The decoder.
        output_time_major: Whether outputs are of shape `(time, batch, ...)`.
        impute_finished: Whether outputs are zeros and states stay where an example is finished.
        maximum_iterations: How many steps there are at most, a number; needed where no data says so.
        parallel_iterations: Ignored.
        swap_memory: Ignored.
        scope: The variable scope, or its name; by default `"decoder"`.

    Returns:
        The outputs of all steps, the last state, and how many steps each example had.

    Raises:
        BadTypeError: If `decoder` is none.
        BadArgumentError: If nothing says how many steps there are at most.
    """
    if not isinstance(decoder, Decoder):
        raise errors.BadTypeError(f"Expected decoder to be type Decoder, but saw: {shown(type(decoder))}")
    with v1.variable_scope(scope, "decoder"):
        finished, inputs, state = jax.tree.map(on_device, decoder.initialize())
        steps = _steps_of(decoder, maximum_iterations)
        outputs, state, lengths = _decode(
            decoder, steps, (state, inputs, finished), impute_finished=impute_finished
        )
        outputs, state = decoder.finalize(outputs, state, lengths)
    if not output_time_major:
        outputs = jax.tree.map(v1.nn.transpose_batch_time, outputs)
    return outputs, state, lengths


def _steps_of(decoder: Decoder, maximum_iterations: Any) -> int:
    most = None if maximum_iterations is None else if_constant(maximum_iterations)
    if maximum_iterations is not None and not isinstance(most, int):
        try:
            most = int(maximum_iterations)
        except jax.errors.ConcretizationTypeError:
            most = None
    known = [each for each in (most, decoder.most_steps) if each is not None]
    if not known:
        raise errors.BadArgumentError(
            "A compiled loop needs a bound. Expected: maximum_iterations, a number that is known, or a TrainingHelper. "
            f"Received: maximum_iterations={shown(maximum_iterations)}."
        )
    return min(known)


def _decode(
    decoder: Decoder, steps: int, first: tuple[Any, Any, Any], *, impute_finished: bool
) -> tuple[Any, Any, Any]:
    state, inputs, finished = first

    def step(time: Any, inputs: Any, state: Any, *, is_sharing: bool) -> Any:
        # What is made in the scope has the names that it would have had the first time.
        with v1.variable_scope(v1.get_variable_scope(), reuse=is_sharing or None):
            made, after, following, ended = jax.tree.map(on_device, decoder.step(time, inputs, state))
        # Sequences of one kind may have become others.
        return made, _alike(state, after), _alike(inputs, following), ended

    blank = jax.tree.map(jnp.zeros_like, step(jnp.int32(0), inputs, state, is_sharing=False)[0])

    def body(carried: Any, time: Any) -> tuple[Any, Any]:
        before, inputs, finished, lengths = carried
        made, after, following, ended = step(time, inputs, before, is_sharing=True)
        is_over = jnp.all(finished)
        keeps = finished if impute_finished else jnp.broadcast_to(is_over, finished.shape)
        lengths = jnp.where(finished, lengths, time + 1)
        ended = ended if decoder.tracks_own_finished else ended | finished
        emitted = jax.tree.map(lambda new, zero: _choose(keeps, zero, new), made, blank)
        kept = jax.tree.map(
            lambda old, new: jnp.where(is_over, old, new) if new.ndim == 0 else _choose(keeps, old, new),
            before,
            after,
        )
        return (kept, following, jnp.where(is_over, finished, ended), lengths), emitted

    carried = (state, inputs, finished, jnp.zeros(finished.shape, jnp.int32))
    (final, _, _, lengths), outputs = control.scan_rows(jnp.arange(steps), carried, body)
    return outputs, final, lengths


def _alike(first: Any, second: Any) -> Any:
    leaves, treedef = jax.tree.flatten(first)
    found = jax.tree.leaves(second)
    if len(leaves) != len(found):
        raise errors.BadArgumentError(
            f"A step gives a state and inputs of the structure that it is given. Expected: {treedef}. Received: "
            f"{jax.tree.structure(second)}."
        )
    return jax.tree.unflatten(
        treedef, [new.astype(old.dtype) for old, new in zip(leaves, found, strict=True)]
    )


def _choose(condition: Any, value: Any, other: Any) -> Any:
    if value.shape[: condition.ndim] != condition.shape:
        # Rows of all beams.
        condition = condition.reshape(-1)
    return jnp.where(condition.reshape(*condition.shape, *[1] * (value.ndim - condition.ndim)), value, other)


@recordable
def sequence_loss(
    logits: Any,
    targets: Any,
    weights: Any,
    average_across_timesteps: bool = True,
    average_across_batch: bool = True,
    sum_over_timesteps: bool = False,
    sum_over_batch: bool = False,
    softmax_loss_function: Callable[..., Any] | None = None,
    name: str | None = None,
) -> Any:
    """Return the weighted cross-entropy of sequences, as `tf.contrib.seq2seq.sequence_loss`.

    Args:
        logits: Shape `(batch, time, classes)`.
        targets: Class indices, shape `(batch, time)`.
        weights: Of the same shape.
        average_across_timesteps: Whether the sum over time is divided by the sum of weights.
        average_across_batch: Whether the sum over examples is.
        sum_over_timesteps: Whether the sum over time is divided by how many weights are not 0.
        sum_over_batch: Whether the sum over examples is.
        softmax_loss_function: A function of `labels` and `logits`, in the place of the cross-entropy.
        name: Ignored.

    Raises:
        BadArgumentError: If a shape has another rank, or two of the options contradict one another.
    """
    scores, truth, factors = on_device(logits), on_device(targets), on_device(weights)
    for given, rank, what in (
        (scores, 3, "Logits must be a [batch_size x sequence_length x logits] tensor"),
        (truth, 2, "Targets must be a [batch_size x sequence_length] tensor"),
        (factors, 2, "Weights must be a [batch_size x sequence_length] tensor"),
    ):
        if given.ndim != rank:
            raise errors.BadArgumentError(f"{what}. Received: shape {tuple(given.shape)}.")
    for averages, sums, what in (
        (average_across_timesteps, sum_over_timesteps, "timesteps"),
        (average_across_batch, sum_over_batch, "batch"),
    ):
        if averages and sums:
            raise errors.BadArgumentError(
                f"average_across_{what} and sum_over_{what} cannot be set to True at same time."
            )
    flat, labels = scores.reshape(-1, scores.shape[2]), truth.reshape(-1)
    compute = softmax_loss_function or nn.sparse_softmax_cross_entropy_with_logits
    each = (on_device(compute(labels=labels, logits=flat)) * factors.reshape(-1)).reshape(truth.shape)
    counts = (factors != 0).astype(each.dtype)
    if average_across_timesteps and average_across_batch:
        return _quotient(each, factors, None)
    if sum_over_timesteps and sum_over_batch:
        return _quotient(each, counts, None)
    if average_across_timesteps or average_across_batch:
        return _quotient(each, factors, 0 if average_across_batch else 1)
    if sum_over_timesteps or sum_over_batch:
        return _quotient(each, counts, 0 if sum_over_batch else 1)
    return each


def _quotient(values: Any, counts: Any, axis: int | None) -> Any:
    total, count = jnp.sum(values, axis), jnp.sum(counts, axis)
    return jnp.where(count == 0, 0, total / jnp.where(count == 0, 1, count))
