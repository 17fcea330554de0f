"""Recurrent nets of TensorFlow 1: `tf.nn.dynamic_rnn`, `bidirectional_dynamic_rnn`, `static_rnn` (v1 layer).

A net is one loop of the program. A cell may make its variables when it is first called, so it is called once in front
of the loop, with the first step's inputs, and once more in the loop's body, where it finds them.
"""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import keras

from stratax import errors
from stratax.base.recording import composite
from stratax.base.shown import shown
from stratax.core import control
from stratax.tensorflow.ops.arrays import indexing
from stratax.tensorflow.ops.calls.creation import on_device
from stratax.tensorflow.v1._rnn_cell import check_cell
from stratax.tensorflow.v1._variable_scope import get_variable_scope, variable_scope


def transpose_batch_time(x: object) -> Any:
    """Return a tensor with its first two dimensions in each other's place; one of fewer as it is."""
    array = on_device(x)
    return array if array.ndim < 2 else jnp.swapaxes(array, 0, 1)


@composite
def dynamic_rnn(
    cell: object,
    inputs: object,
    sequence_length: object = None,
    initial_state: object = None,
    dtype: object = None,
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    time_major: bool = False,
    scope: object = None,
) -> tuple[Any, Any]:
    """Run a cell through time, as `tf.nn.dynamic_rnn`.

    Args:
        cell: The cell.
        inputs: A tensor, shape `(batch, time, ...)`, or a nested structure of them.
        sequence_length: How many steps each example has, shape `(batch,)`: behind them outputs are zeros and the state
            stays as it is.
        initial_state: The state before the first step; by default zeros.
        dtype: Their dtype.
        parallel_iterations: Ignored.
        swap_memory: Ignored.
        time_major: Whether inputs and outputs are of shape `(time, batch, ...)`.
        scope: The variable scope, or its name; by default `"rnn"`.

    Returns:
        The outputs of all steps, and the state behind the last.

    Raises:
        BadTypeError: If `cell` is none.
        BadArgumentError: If there is neither a state nor a dtype, or `sequence_length` is no vector.
    """
    check_cell("cell", cell)
    with variable_scope(scope or "rnn"):
        # Time first from here on: the loop takes row by row.
        rows = jax.tree.map(on_device if time_major else transpose_batch_time, inputs)
        first = jax.tree.leaves(rows)[0]
        batch_size = first.shape[1]
        lengths = lengths_of(sequence_length, batch_size)
        state = first_state(cell, initial_state, batch_size, dtype)
        outputs, final = _unroll(_step_of(cell), rows, state, lengths)
    return outputs if time_major else jax.tree.map(transpose_batch_time, outputs), final


def lengths_of(given: object, batch_size: int) -> Any:
    """Return the lengths of sequences as whole numbers.

    Raises:
        BadArgumentError: If there is not one for each example.
    """
    if given is None:
        return None
    lengths = on_device(given)
    if lengths.ndim != 1 or lengths.shape[0] != batch_size:
        raise errors.BadArgumentError(
            f"sequence_length must be a vector of length batch_size, {batch_size}. Received: shape "
            f"{tuple(lengths.shape)}."
        )
    return lengths.astype(jnp.int32)


def first_state(cell: Any, given: object, batch_size: Any, dtype: Any) -> Any:
    """Return the state that a net begins with.

    Raises:
        BadArgumentError: If there is neither a state nor a dtype.
    """
    if given is not None:
        return jax.tree.map(on_device, given)
    if dtype is None:
        raise errors.BadArgumentError(
            "If there is no initial_state, you must give a dtype. Received: neither."
        )
    # Keras' cells begin in their own dtype.
    if _is_of_keras(cell):
        return jax.tree.map(lambda each: each.astype(dtype), cell.get_initial_state(batch_size=batch_size))
    if hasattr(cell, "get_initial_state"):
        return cell.get_initial_state(inputs=None, batch_size=batch_size, dtype=dtype)
    return cell.zero_state(batch_size, dtype)


def _is_of_keras(cell: object) -> bool:
    return isinstance(cell, keras.layers.Layer) and not hasattr(cell, "zero_state")


def _step_of(cell: Any) -> Callable[[Any, Any], tuple[Any, Any]]:
    """Return a function of inputs and a state that runs a cell and gives a state of the same structure."""

    def step(inputs: Any, state: Any) -> tuple[Any, Any]:
        # Keras' cells take and give lists of states, also of one.
        is_bare = _is_of_keras(cell) and not isinstance(state, list | tuple)
        output, new = cell(inputs, [state] if is_bare else state)
        # A loop carries one structure: a cell may give a list where it took a tuple.
        leaves, treedef = jax.tree.flatten(state)
        found = jax.tree.leaves(new)
        if len(found) != len(leaves):
            raise errors.BadArgumentError(
                f"A cell returns a state of the structure that it is given. Expected: {treedef}. Received: "
                f"{jax.tree.structure(new)}."
            )
        return jax.tree.map(on_device, output), jax.tree.unflatten(
            treedef, [on_device(each) for each in found]
        )

    return step


@contextlib.contextmanager
def _again(*, is_sharing: bool) -> Iterator[None]:
    """Enter the variable scope once more, such that what is made in it gets the names that it would have got now."""
    with variable_scope(get_variable_scope(), reuse=is_sharing or None):
        yield


def _unroll(
    step: Callable[[Any, Any], tuple[Any, Any]], rows: Any, state: Any, lengths: Any
) -> tuple[Any, Any]:
    """Return the outputs of all steps, stacked, and the last state."""
    # The first step is traced once outside of the loop: variables are made there, and the outputs' shapes are learned.
    with _again(is_sharing=False):
        trial, _ = step(jax.tree.map(lambda row: row[0], rows), state)
    blank = jax.tree.map(jnp.zeros_like, trial)

    def body(carried: Any, row: Any) -> tuple[Any, Any]:
        time, before = carried
        # In the loop the same variables, by the same names.
        with _again(is_sharing=True):
            output, after = step(row, before)
        if lengths is not None:
            # Behind a sequence's end outputs are zeros, and the state is that of its last step, as in TensorFlow.
            output = _choose(time < lengths, output, blank)
            after = _choose(time < lengths, after, before)
        return (time + 1, after), output

    (_, final), outputs = control.scan_rows(rows, (jnp.int32(0), state), body)
    return outputs, final


def _choose(condition: Any, values: Any, others: Any) -> Any:
    """Return values where a condition of the examples holds, and others elsewhere; scalars belong to no example."""

    def choose(value: Any, other: Any) -> Any:
        if value.ndim == 0:
            return value
        # One condition for each example, whatever dimensions a state has.
        return jnp.where(condition.reshape(-1, *[1] * (value.ndim - 1)), value, other)

    return jax.tree.map(choose, values, others)


def reverse_in_time(values: object, lengths: object, *, time_major: bool) -> Any:
    """Return sequences back to front, each up to its length."""

    def turn(value: object) -> Any:
        if lengths is None:
            return jnp.flip(on_device(value), 0 if time_major else 1)
        # The dimensions of time and of the batch.
        return indexing.reverse_sequence(value, lengths, int(not time_major), int(time_major))

    return jax.tree.map(turn, values)


@composite
def bidirectional_dynamic_rnn(
    cell_fw: object,
    cell_bw: object,
    inputs: object,
    sequence_length: object = None,
    initial_state_fw: object = None,
    initial_state_bw: object = None,
    dtype: object = None,
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    time_major: bool = False,
    scope: object = None,
) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """Run a cell forward through time and another one backward, as `tf.nn.bidirectional_dynamic_rnn`.

    Args:
        cell_fw: The one that runs forward.
        cell_bw: The one that runs backward, from each example's last step.
        inputs: As in `dynamic_rnn`.
        sequence_length: Likewise.
        initial_state_fw: The first state of `cell_fw`; by default zeros.
        initial_state_bw: Likewise of `cell_bw`.
        dtype: As in `dynamic_rnn`.
        parallel_iterations: Ignored.
        swap_memory: Ignored.
        time_major: As in `dynamic_rnn`.
        scope: The variable scope, or its name; by default `"bidirectional_rnn"`.

    Returns:
        The outputs of both, beside their inputs, and the last states of both.
    """
    check_cell("cell_fw", cell_fw)
    check_cell("cell_bw", cell_bw)
    with variable_scope(scope or "bidirectional_rnn"):
        with variable_scope("fw") as around:
            forward, state_fw = dynamic_rnn(
                cell_fw, inputs, sequence_length, initial_state_fw, dtype, time_major=time_major, scope=around
            )
        with variable_scope("bw") as around:
            # Each example from its own last step on, so that padding comes last this way, too.
            turned = reverse_in_time(inputs, sequence_length, time_major=time_major)
            backward, state_bw = dynamic_rnn(
                cell_bw, turned, sequence_length, initial_state_bw, dtype, time_major=time_major, scope=around
            )
    backward = reverse_in_time(backward, sequence_length, time_major=time_major)
    return (forward, backward), (state_fw, state_bw)


@composite
def static_rnn(
    cell: object,
    inputs: object,
    initial_state: object = None,
    dtype: object = None,
    sequence_length: object = None,
    scope: object = None,
) -> tuple[list[Any], Any]:
    """Run a cell through a list of inputs, as `tf.nn.static_rnn`: each step is a part of the program of its own.

    Args:
        cell: The cell.
        inputs: A list of tensors, shape `(batch, ...)`, or of nested structures of them.
        initial_state: As in `dynamic_rnn`.
        dtype: Likewise.
        sequence_length: Likewise.
        scope: Likewise.

    Returns:
        The outputs of all steps in a list, and the state behind the last.

    Raises:
        BadTypeError: If `cell` is none, or `inputs` no list.
        BadArgumentError: As in `dynamic_rnn`, or if there are no inputs.
    """
    check_cell("cell", cell)
    if not isinstance(inputs, list | tuple):
        raise errors.BadTypeError(f"inputs must be a sequence. Received: inputs={shown(inputs)}.")
    if not inputs:
        raise errors.BadArgumentError("inputs must not be empty. Received: inputs=[].")
    step = _step_of(cell)
    outputs = []
    with variable_scope(scope or "rnn") as around:
        batch_size = on_device(jax.tree.leaves(inputs)[0]).shape[0]
        lengths = lengths_of(sequence_length, batch_size)
        state = first_state(cell, initial_state, batch_size, dtype)
        for time, given in enumerate(inputs):
            # The first step has made the variables.
            if time:
                around.reuse_variables()
            output, after = step(given, state)
            if lengths is not None:
                output = _choose(time < lengths, output, jax.tree.map(jnp.zeros_like, output))
                after = _choose(time < lengths, after, state)
            outputs.append(output)
            state = after
    return outputs, state


@composite
def static_bidirectional_rnn(
    cell_fw: object,
    cell_bw: object,
    inputs: object,
    initial_state_fw: object = None,
    initial_state_bw: object = None,
    dtype: object = None,
    sequence_length: object = None,
    scope: object = None,
) -> tuple[list[Any], Any, Any]:
    """Run two cells through a list of inputs, one of them backward, as `tf.nn.static_bidirectional_rnn`.

    Args:
        cell_fw: The one that runs forward.
        cell_bw: The one that runs backward.
        inputs: As in `static_rnn`.
        initial_state_fw: The first state of `cell_fw`; by default zeros.
        initial_state_bw: Likewise of `cell_bw`.
        dtype: As in `dynamic_rnn`.
        sequence_length: Likewise.
        scope: The variable scope, or its name; by default `"bidirectional_rnn"`.

    Returns:
        The outputs of both side by side, in a list, and the last state of each.
    """
    check_cell("cell_fw", cell_fw)
    check_cell("cell_bw", cell_bw)
    with variable_scope(scope or "bidirectional_rnn"):
        with variable_scope("fw") as around:
            forward, state_fw = static_rnn(cell_fw, inputs, initial_state_fw, dtype, sequence_length, around)
        with variable_scope("bw") as around:
            turned = _reverse_list(inputs, sequence_length)
            backward, state_bw = static_rnn(cell_bw, turned, initial_state_bw, dtype, sequence_length, around)
    backward = _reverse_list(backward, sequence_length)
    outputs = [
        jax.tree.map(lambda one, other: jnp.concatenate([one, other], 1), *both)
        for both in zip(forward, backward, strict=True)
    ]
    return outputs, state_fw, state_bw


def _reverse_list(values: Any, lengths: Any) -> list[Any]:
    if lengths is None:
        return list(reversed(values))
    # The list as one array with time first: sequences of different lengths turn around different steps.
    stacked = jax.tree.map(lambda *each: jnp.stack([on_device(part) for part in each]), *values)
    turned = reverse_in_time(stacked, lengths, time_major=True)
    return [jax.tree.map(lambda value, at=time: value[at], turned) for time in range(len(values))]
