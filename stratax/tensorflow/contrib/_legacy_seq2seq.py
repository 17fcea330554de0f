"""`tf.contrib.legacy_seq2seq`: decoders over lists of steps, and the losses of their results (contrib layer)."""

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

from stratax import errors
from stratax.base.shown import shown
from stratax.tensorflow import v1
from stratax.tensorflow.ops.arrays.arrays import reshape
from stratax.tensorflow.ops.math.reductions import reduce_sum
from stratax.tensorflow.ops.nn import nn

_LoopFunction = Callable[[Any, int], Any]
# Where all weights are 0.
_LEAST = 1e-12


def rnn_decoder(
    decoder_inputs: Sequence[Any],
    initial_state: Any,
    cell: Any,
    loop_function: _LoopFunction | None = None,
    scope: Any = None,
) -> tuple[list[Any], Any]:
    """Call a cell for each of a list of inputs, as `tf.contrib.legacy_seq2seq.rnn_decoder`.

    Args:
        decoder_inputs: Each of shape `(batch, input size)`.
        initial_state: The cell's first state.
        cell: The cell.
        loop_function: Makes all inputs but the first: of the output before, and the step's number.
        scope: A name for the variables' scope.

    Returns:
        The outputs, and the last state.
    """
    outputs: list[Any] = []
    state = initial_state
    with v1.variable_scope(scope or "rnn_decoder") as entered:
        for step, given in enumerate(decoder_inputs):
            inputs = given
            if step and loop_function is not None:
                with v1.variable_scope("loop_function", reuse=True):
                    inputs = loop_function(outputs[-1], step)
            if step:
                entered.reuse_variables()
            output, state = cell(inputs, state)
            outputs.append(output)
    return outputs, state


def sequence_loss_by_example(
    logits: Sequence[Any],
    targets: Sequence[Any],
    weights: Sequence[Any],
    average_across_timesteps: bool = True,
    softmax_loss_function: Callable[..., Any] | None = None,
    name: str | None = None,
) -> Any:
    """Return each example's cross entropy, as `tf.contrib.legacy_seq2seq.sequence_loss_by_example`.

    Args:
        logits: Each of shape `(batch, classes)`, one for each step.
        targets: Classes, each of shape `(batch,)`.
        weights: What each counts, of the same shape.
        average_across_timesteps: Whether it is divided by the sum of the weights.
        softmax_loss_function: Computes the loss of a step, of `labels` and `logits`.
        name: Ignored.

    Raises:
        BadArgumentError: If the lists are not equally long.
    """
    if not len(logits) == len(targets) == len(weights):
        raise errors.BadArgumentError(
            "Lengths of logits, weights, and targets must be the same. Received: "
            f"{shown((len(logits), len(weights), len(targets)))}."
        )
    compute = softmax_loss_function or nn.sparse_softmax_cross_entropy_with_logits
    losses = [
        compute(labels=reshape(target, [-1]), logits=each) * weight
        for each, target, weight in zip(logits, targets, weights, strict=True)
    ]
    total = functools.reduce(operator.add, losses)
    return total / (functools.reduce(operator.add, weights) + _LEAST) if average_across_timesteps else total


def sequence_loss(
    logits: Sequence[Any],
    targets: Sequence[Any],
    weights: Sequence[Any],
    average_across_timesteps: bool = True,
    average_across_batch: bool = True,
    softmax_loss_function: Callable[..., Any] | None = None,
    name: str | None = None,
) -> Any:
    """Return the cross entropy of all examples, as `tf.contrib.legacy_seq2seq.sequence_loss`.

    Args:
        logits: As for `sequence_loss_by_example`.
        targets: Likewise.
        weights: Likewise.
        average_across_timesteps: Likewise.
        average_across_batch: Whether the sum is divided by the number of examples.
        softmax_loss_function: As for `sequence_loss_by_example`.
        name: Ignored.
    """
    losses = sequence_loss_by_example(
        logits, targets, weights, average_across_timesteps, softmax_loss_function
    )
    total = reduce_sum(losses)
    return total / count_of(losses) if average_across_batch else total


def count_of(losses: Any) -> Any:
    """Return how many losses there are, as a fraction."""
    return reduce_sum(losses * 0.0 + 1.0)
