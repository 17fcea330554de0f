"""Whole nets of `tf.contrib.rnn`: fused cells, which take all steps at once, and stacks of bidirectional nets."""

import abc
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from stratax import errors
from stratax.base.shown import shown
from stratax.data.elements import TensorShape
from stratax.tensorflow import v1
from stratax.tensorflow.contrib._cells import LSTMBlockCell
from stratax.tensorflow.ops.arrays import indexing
from stratax.tensorflow.ops.calls.creation import on_device
from stratax.tensorflow.v1 import nn


class FusedRNNCell(abc.ABC):
    """What takes a whole sequence at once, time first, as `tf.contrib.rnn.FusedRNNCell`: base class."""

    @abc.abstractmethod
    def __call__(
        self,
        inputs: Any,
        initial_state: Any = None,
        dtype: Any = None,
        sequence_length: Any = None,
        scope: Any = None,
    ) -> Any:
        """Run all steps.

        Args:
            inputs: A tensor, shape `(time, batch, size)`, or a list of tensors, one for each step.
            initial_state: The state before the first step; by default zeros.
            dtype: Their dtype.
            sequence_length: How many steps each example has; behind them outputs are zeros.
            scope: The variable scope, or its name.

        Returns:
            The outputs, as `inputs` are, and the state behind each example's last step.
        """


class LSTMBlockFusedCell(LSTMBlockCell):
    """An LSTM that takes a whole sequence at once, as `tf.contrib.rnn.LSTMBlockFusedCell`.

    Args:
        num_units: The size of state and output.
        forget_bias: Added to the forget gate.
        cell_clip: The largest magnitude of the cell's state; None for no limit.
        use_peephole: Whether the gates see the cell's state.
        reuse: Whether the variables must be there already.
        dtype: The variables' dtype; by default that of the inputs.
        name: Its name.
    """

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        cell_clip: float | None = None,
        use_peephole: bool = False,
        reuse: object = None,
        dtype: Any = None,
        name: str | None = "lstm_fused_cell",
    ) -> None:
        super().__init__(num_units, forget_bias, cell_clip, use_peephole, dtype, reuse, name)

    @property
    def num_units(self) -> int:
        """The size of state and output."""
        return self._num_units

    def __call__(  # type: ignore[override]
        self,
        inputs: Any,
        initial_state: Any = None,
        dtype: Any = None,
        sequence_length: Any = None,
        scope: Any = None,
    ) -> Any:
        """Run all steps; see :class:`FusedRNNCell`.

        Raises:
            BadArgumentError: If there is neither a state nor a dtype, or the inputs have another rank than 3.
        """
        is_list = isinstance(inputs, list)
        rows = jnp.stack([on_device(each) for each in inputs]) if is_list else on_device(inputs)
        if rows.ndim != 3:
            raise errors.BadArgumentError(
                f"A fused cell takes inputs of shape (time, batch, size). Received: shape {tuple(rows.shape)}."
            )
        if initial_state is None and dtype is None:
            raise errors.BadArgumentError(
                "Either initial_state or dtype needs to be specified. Received: neither."
            )
        if initial_state is not None:
            initial_state = LSTMState(*initial_state)
        around = self._scope_of_call(scope)
        with v1.variable_scope(around, reuse=self.built or self._reuse):
            if not self.built:
                self.build(TensorShape(rows.shape[1:]))
                self.built = True
        outputs, state = nn.dynamic_rnn(
            _Steps(self), rows, sequence_length, initial_state, dtype, time_major=True, scope=around
        )
        return (list(outputs) if is_list else outputs), state


LSTMState = v1.rnn_cell.LSTMStateTuple


class _Steps:
    """The steps of a cell whose variables are there already, as a cell."""

    def __init__(self, cell: LSTMBlockFusedCell) -> None:
        self._cell = cell
        self.state_size, self.output_size = cell.state_size, cell.output_size
        self.zero_state = cell.zero_state

    def __call__(self, inputs: Any, state: Any) -> Any:
        return self._cell.call(inputs, state)


class FusedRNNCellAdaptor(FusedRNNCell):
    """Runs a cell through a whole sequence, as `tf.contrib.rnn.FusedRNNCellAdaptor`.

    Args:
        cell: The cell.
        use_dynamic_rnn: Whether it runs in a loop, or each step is a part of the program of its own.
    """

    def __init__(self, cell: Any, use_dynamic_rnn: bool = False) -> None:
        self._cell = cell
        self._is_loop = use_dynamic_rnn

    def __call__(
        self,
        inputs: Any,
        initial_state: Any = None,
        dtype: Any = None,
        sequence_length: Any = None,
        scope: Any = None,
    ) -> Any:
        is_list = isinstance(inputs, list)
        if self._is_loop:
            outputs, state = nn.dynamic_rnn(
                self._cell,
                jnp.stack(inputs) if is_list else inputs,
                sequence_length,
                initial_state,
                dtype,
                time_major=True,
                scope=scope,
            )
            return (list(outputs) if is_list else outputs), state
        steps = inputs if is_list else list(on_device(inputs))
        found, state = nn.static_rnn(self._cell, steps, initial_state, dtype, sequence_length, scope)
        return (found if is_list else jnp.stack(found)), state


class TimeReversedFusedRNN(FusedRNNCell):
    """Runs another fused cell from the last step to the first, as `tf.contrib.rnn.TimeReversedFusedRNN`.

    Args:
        cell: The fused cell.
    """

    def __init__(self, cell: Any) -> None:
        self._cell = cell

    def __call__(
        self,
        inputs: Any,
        initial_state: Any = None,
        dtype: Any = None,
        sequence_length: Any = None,
        scope: Any = None,
    ) -> Any:
        outputs, state = self._cell(
            _turn(inputs, sequence_length),
            initial_state=initial_state,
            dtype=dtype,
            sequence_length=sequence_length,
            scope=scope,
        )
        return _turn(outputs, sequence_length), state


def _turn(steps: object, lengths: object) -> Any:
    """Return steps back to front; those of a list all of them, as TensorFlow does."""
    if isinstance(steps, list):
        return steps[::-1]
    if lengths is None:
        return jnp.flip(on_device(steps), 0)
    return indexing.reverse_sequence(steps, lengths, 0, 1)


def _check_stack(cells_fw: object, cells_bw: object, states: Sequence[Any]) -> None:
    """Refuse lists that don't go together.

    Raises:
        BadArgumentError: If cells are no lists of one length, or states are none of theirs.
    """
    if not (isinstance(cells_fw, list) and isinstance(cells_bw, list) and cells_fw):
        raise errors.BadArgumentError(
            "cells_fw and cells_bw must be lists of cells, one per layer. Received: "
            f"{shown(cells_fw)} and {shown(cells_bw)}."
        )
    if any(len(each) != len(cells_fw) for each in (cells_bw, *states) if each is not None):
        raise errors.BadArgumentError(
            "Forward and backward cells, and their states, must have the same depth. Received: "
            f"{[None if each is None else len(each) for each in (cells_fw, cells_bw, *states)]}."
        )


def stack_bidirectional_dynamic_rnn(
    cells_fw: list[Any],
    cells_bw: list[Any],
    inputs: object,
    initial_states_fw: list[Any] | None = None,
    initial_states_bw: list[Any] | None = None,
    dtype: object = None,
    sequence_length: object = None,
    parallel_iterations: int | None = None,
    time_major: bool = False,
    scope: object = None,
    swap_memory: bool = False,
) -> tuple[Any, tuple[Any, ...], tuple[Any, ...]]:
    """Run bidirectional nets one above the other, as `tf.contrib.rnn.stack_bidirectional_dynamic_rnn`.

    Args:
        cells_fw: The cells that run forward, one for each layer.
        cells_bw: Those that run backward.
        inputs: As in `tf.nn.dynamic_rnn`.
        initial_states_fw: The first states of `cells_fw`; by default zeros.
        initial_states_bw: Likewise of `cells_bw`.
        dtype: As in `tf.nn.dynamic_rnn`.
        sequence_length: Likewise.
        parallel_iterations: Ignored.
        time_major: As in `tf.nn.dynamic_rnn`.
        scope: The variable scope, or its name; by default `"stack_bidirectional_rnn"`.
        swap_memory: Ignored.

    Returns:
        The last layer's outputs, both side by side, and the last states of all layers, forward and backward.
    """

    def layer(
        given: object, forward: object, backward: object, states: tuple[Any, Any], around: object
    ) -> Any:
        outputs, last = nn.bidirectional_dynamic_rnn(
            forward, backward, given, sequence_length, *states, dtype, time_major=time_major
        )
        return jnp.concatenate(outputs, 2), *last

    return _stack(cells_fw, cells_bw, inputs, (initial_states_fw, initial_states_bw), scope, layer)


def stack_bidirectional_rnn(
    cells_fw: list[Any],
    cells_bw: list[Any],
    inputs: list[Any],
    initial_states_fw: list[Any] | None = None,
    initial_states_bw: list[Any] | None = None,
    dtype: object = None,
    sequence_length: object = None,
    scope: object = None,
) -> tuple[Any, tuple[Any, ...], tuple[Any, ...]]:
    """Run bidirectional nets one above the other through a list of inputs, as `tf.contrib.rnn.stack_bidirectional_rnn`.

    Args:
        cells_fw: The cells that run forward, one for each layer.
        cells_bw: Those that run backward.
        inputs: As in `tf.nn.static_rnn`.
        initial_states_fw: The first states of `cells_fw`; by default zeros.
        initial_states_bw: Likewise of `cells_bw`.
        dtype: As in `tf.nn.static_rnn`.
        sequence_length: Likewise.
        scope: The variable scope, or its name; by default `"stack_bidirectional_rnn"`.
    """

    def layer(
        given: object, forward: object, backward: object, states: tuple[Any, Any], around: object
    ) -> Any:
        return nn.static_bidirectional_rnn(forward, backward, given, *states, dtype, sequence_length, around)

    return _stack(cells_fw, cells_bw, inputs, (initial_states_fw, initial_states_bw), scope, layer)


def _stack(
    cells_fw: list[Any],
    cells_bw: list[Any],
    inputs: object,
    states: tuple[list[Any] | None, list[Any] | None],
    scope: object,
    layer: Callable[..., tuple[Any, Any, Any]],
) -> tuple[Any, tuple[Any, ...], tuple[Any, ...]]:
    _check_stack(cells_fw, cells_bw, states)
    last_fw, last_bw = [], []
    with v1.variable_scope(scope or "stack_bidirectional_rnn"):
        for number, (forward, backward) in enumerate(zip(cells_fw, cells_bw, strict=True)):
            own = tuple(None if each is None else each[number] for each in states)
            with v1.variable_scope(f"cell_{number}") as around:
                inputs, state_fw, state_bw = layer(inputs, forward, backward, own, around)
            last_fw.append(state_fw)
            last_bw.append(state_bw)
    return inputs, tuple(last_fw), tuple(last_bw)


def best_effort_input_batch_size(flat_input: Sequence[Any]) -> int:
    """Return the batch size of inputs whose first dimension is time."""
    return int(jax.tree.leaves(flat_input)[0].shape[1])
