"""Cells of `tf.nn.rnn_cell` that consist of others: several layers, dropout, residuals (v1 layer)."""

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import keras
import numpy as np

from stratax import errors
from stratax.base.shown import shown
from stratax.base.tracing import is_traced
from stratax.data.elements import if_constant
from stratax.tensorflow.ops.nn import nn
from stratax.tensorflow.ops.random.random import uniform
from stratax.tensorflow.v1._rnn_cell import LSTMStateTuple, RNNCell, check_cell, sizes_of
from stratax.tensorflow.v1._variable_scope import variable_scope


class MultiRNNCell(RNNCell):
    """Cells one above the other, as `tf.nn.rnn_cell.MultiRNNCell`; the variables are in scopes `cell_0`, `cell_1`.

    Args:
        cells: The cells, the lowest first.
        state_is_tuple: False: the state is one tensor, of all states side by side.
    """

    def __init__(self, cells: Sequence[Any], state_is_tuple: bool = True) -> None:
        super().__init__()
        if not isinstance(cells, list | tuple) or not cells:
            raise errors.BadArgumentError(
                f"MultiRNNCell takes a list of at least one cell. Received: cells={shown(cells)}."
            )
        self._cells = cells
        self._state_is_tuple = state_is_tuple
        if not state_is_tuple and any(not isinstance(cell.state_size, int) for cell in cells):
            raise errors.BadArgumentError(
                "With state_is_tuple=False each cell must have a state of one tensor. Received: sizes "
                f"{shown([cell.state_size for cell in cells])}."
            )

    def _parts(self) -> list[Any]:
        return list(self._cells)

    @property
    def state_size(self) -> Any:
        """The sizes of the cells' states, or their sum."""
        sizes = tuple(cell.state_size for cell in self._cells)
        return sizes if self._state_is_tuple else sum(sizes)

    @property
    def output_size(self) -> Any:
        """The size of the last cell's output."""
        return self._cells[-1].output_size

    def zero_state(self, batch_size: object, dtype: object) -> Any:
        """Return the cells' zeros."""
        if self._state_is_tuple:
            return tuple(cell.zero_state(batch_size, dtype) for cell in self._cells)
        return super().zero_state(batch_size, dtype)

    def call(self, inputs: object, state: Any) -> Any:
        """Run one step of each cell."""
        if self._state_is_tuple:
            if not isinstance(state, list | tuple) or len(state) != len(self._cells):
                raise errors.BadArgumentError(
                    f"Expected state to be a tuple of length {len(self._cells)}. Received: state={shown(state)}."
                )
            states = list(state)
        else:
            # The states of all cells lie side by side in one tensor.
            ends = list(itertools.accumulate(cell.state_size for cell in self._cells))
            states = jnp.split(state, ends[:-1], axis=1)
        found = []
        for number, (cell, own) in enumerate(zip(self._cells, states, strict=True)):
            with variable_scope(f"cell_{number}"):
                inputs, new = cell(inputs, own)
            found.append(new)
        return inputs, tuple(found) if self._state_is_tuple else jnp.concatenate(found, 1)


class WrapperCell(RNNCell):
    """A cell around another, in whose variable scope it has none of its own: base class of wrappers.

    Args:
        cell: The cell.
        **kwargs: Those of :class:`RNNCell`.
    """

    def __init__(self, cell: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        check_cell("cell", cell)
        self.cell = cell

    def _parts(self) -> list[Any]:
        return [self.cell]

    @property
    def wrapped_cell(self) -> Any:
        """The cell that is wrapped."""
        return self.cell

    # What programs of older versions take.
    _cell = wrapped_cell

    @property
    def state_size(self) -> Any:
        """The size of the cell's state."""
        return self.cell.state_size

    @property
    def output_size(self) -> Any:
        """The size of the cell's output."""
        return self.cell.output_size

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """Return the cell's zeros."""
        return self.cell.zero_state(batch_size, dtype)

    def __call__(self, inputs: Any, state: Any, scope: Any = None, *args: Any, **kwargs: Any) -> Any:
        """Run one step; `scope` is the cell's variable scope."""
        return self._call_wrapped(inputs, state, {} if scope is None else {"scope": scope})

    def _call_wrapped(self, inputs: Any, state: Any, called: dict[str, Any]) -> Any:
        return self.cell(inputs, state, **called)


def _keeps_memory(state: object) -> Any:
    """Return which parts of a state lose elements: all but the inner states of LSTMs."""
    return LSTMStateTuple(c=False, h=True) if isinstance(state, LSTMStateTuple) else True


class DropoutWrapper(WrapperCell):
    """A cell some of whose inputs, outputs and states become 0 by chance, as `tf.nn.rnn_cell.DropoutWrapper`.

    Args:
        cell: The cell.
        input_keep_prob: The chance that an element of the inputs stays.
        output_keep_prob: Likewise of the outputs.
        state_keep_prob: Likewise of the states, but for `c` of an LSTM.
        variational_recurrent: Whether the same elements become 0 in each step and example.
        input_size: The size of the inputs, where that needs it.
        dtype: The dtype of what is drawn, likewise.
        seed: Of a generator of its own; by default it draws from the model's.
        dropout_state_filter_visitor: A function of a part of the state that tells whether its elements may become 0, or
            which of its parts' may.
        **kwargs: Those of :class:`RNNCell`.
    """

    def __init__(
        self,
        cell: Any,
        input_keep_prob: Any = 1.0,
        output_keep_prob: Any = 1.0,
        state_keep_prob: Any = 1.0,
        variational_recurrent: bool = False,
        input_size: Any = None,
        dtype: Any = None,
        seed: int | None = None,
        dropout_state_filter_visitor: Callable[[Any], Any] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(cell, dtype=dtype, **kwargs)
        if dropout_state_filter_visitor is not None and not callable(dropout_state_filter_visitor):
            raise errors.BadTypeError(
                "dropout_state_filter_visitor must be callable. Received: "
                f"dropout_state_filter_visitor={shown(dropout_state_filter_visitor)}."
            )
        self._filter = dropout_state_filter_visitor or _keeps_memory
        self._keep = {
            "input": _chance("input_keep_prob", input_keep_prob),
            "state": _chance("state_keep_prob", state_keep_prob),
            "output": _chance("output_keep_prob", output_keep_prob),
        }
        # Inputs, states and outputs draw in turn from the one generator.
        self._seed = None if seed is None else keras.random.SeedGenerator(seed)
        self._noise: dict[str, Any] = {}
        if variational_recurrent:
            self._draw_once(input_size, dtype)

    def _draw_once(self, input_size: Any, dtype: Any) -> None:
        """Draw what is the same in all steps."""
        if dtype is None or (input_size is None and _loses(self._keep["input"])):
            raise errors.BadArgumentError(
                "When variational_recurrent=True, dtype must be provided, and input_size with input_keep_prob below 1. "
                f"Received: dtype={shown(dtype)}, input_size={shown(input_size)}."
            )
        sizes = {"input": input_size, "state": self.cell.state_size, "output": self.cell.output_size}
        for what, size in sizes.items():
            if _loses(self._keep[what]):
                # Variational dropout draws once: what is lost is lost in every step.
                # One row for the whole batch, which each example and step has alike.
                self._noise[what] = jax.tree.map(
                    lambda each: uniform((1, *sizes_of(each)), dtype=dtype, seed=self._seed), size
                )

    def _call_wrapped(self, inputs: Any, state: Any, called: dict[str, Any]) -> Any:
        output, new = self.cell(self._drop("input", inputs), state, **called)
        if _loses(self._keep["state"]):
            new = self._drop("state", new, _choose(self._filter, new))
        return self._drop("output", output), new

    def _drop(self, what: str, values: object, where: object = None) -> Any:
        """Return values some of which have become 0, in the places where a structure of booleans says so."""
        keep = self._keep[what]
        if not _loses(keep):
            return values
        leaves, treedef = jax.tree.flatten(values)
        chosen = [True] * len(leaves) if where is None else jax.tree.leaves(where)
        # Drawn once for all steps, or anew by each leaf.
        noises = jax.tree.leaves(self._noise.get(what)) or [None] * len(leaves)
        made = [
            self._of_leaf(leaf, keep, noise) if is_chosen else leaf
            for leaf, is_chosen, noise in zip(leaves, chosen, noises, strict=True)
        ]
        return jax.tree.unflatten(treedef, made)

    def _of_leaf(self, leaf: Any, keep: Any, noise: Any) -> Any:
        if noise is None:
            return nn.dropout(leaf, 1 - keep, seed=self._seed)
        # 1 with the chance `keep`, else 0: `noise` is even from 0 to 1.
        return leaf / keep * jnp.floor(keep + noise)


def _chance(name: str, given: object) -> Any:
    """Return a chance as a number where it is known."""
    value = if_constant(given)
    if not isinstance(value, int | float | np.ndarray | np.generic | jax.Array) or is_traced(value):
        return value
    if not 0 <= float(value) <= 1:
        raise errors.BadArgumentError(
            f"Parameter {name} must be between 0 and 1. Received: {name}={shown(given)}."
        )
    return float(value)


def _loses(keep: object) -> bool:
    return not isinstance(keep, float) or keep < 1


def _choose(visitor: Callable[[Any], Any], state: object) -> Any:
    """Return for each leaf of a state what a visitor says of it, or of a part that it belongs to."""
    said = visitor(state)
    if not isinstance(state, list | tuple | dict):
        return bool(said)
    # No answers for all that is below; of parts that it answers with True it is asked again.
    if said is False:
        return jax.tree.map(lambda _: False, state)
    parts = state.values() if isinstance(state, dict) else state
    answers = [True] * len(state) if said is True else (said.values() if isinstance(said, dict) else said)
    return [
        _choose(visitor, part) if answer else jax.tree.map(lambda _: False, part)
        for part, answer in zip(parts, answers, strict=True)
    ]


class ResidualWrapper(WrapperCell):
    """A cell whose inputs are added to its outputs, as `tf.nn.rnn_cell.ResidualWrapper`.

    Args:
        cell: The cell.
        residual_fn: A function of inputs and outputs that is called instead of adding them.
        **kwargs: Those of :class:`RNNCell`.
    """

    def __init__(
        self, cell: Any, residual_fn: Callable[[Any, Any], Any] | None = None, **kwargs: Any
    ) -> None:
        super().__init__(cell, **kwargs)
        self._residual_fn = residual_fn or _add

    def _call_wrapped(self, inputs: Any, state: Any, called: dict[str, Any]) -> Any:
        outputs, new = self.cell(inputs, state, **called)
        return self._residual_fn(inputs, outputs), new


def _add(inputs: Any, outputs: Any) -> Any:
    def add(given: Any, made: Any) -> Any:
        if jnp.shape(given) != jnp.shape(made):
            raise errors.BadArgumentError(
                "A residual needs outputs of the inputs' shape. Received: "
                f"{tuple(jnp.shape(given))} and {tuple(jnp.shape(made))}."
            )
        return given + made

    return jax.tree.map(add, inputs, outputs)


class DeviceWrapper(WrapperCell):
    """A cell with a device, as `tf.nn.rnn_cell.DeviceWrapper`, which has no effect: a strategy places variables.

    Args:
        cell: The cell.
        device: Ignored.
        **kwargs: Those of :class:`RNNCell`.
    """

    def __init__(self, cell: Any, device: object, **kwargs: Any) -> None:
        super().__init__(cell, **kwargs)
        self._device = device
