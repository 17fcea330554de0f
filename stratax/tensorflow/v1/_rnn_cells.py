"""Cells of `tf.nn.rnn_cell`: BasicRNNCell, GRUCell, BasicLSTMCell, LSTMCell (v1 layer)."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import keras

from stratax import errors
from stratax.base.shown import shown
from stratax.tensorflow.ops.calls.creation import on_device
from stratax.tensorflow.v1._initializers import Constant, Zeros
from stratax.tensorflow.v1._rnn_cell import LayerRNNCell, LSTMStateTuple

_Activation = Callable[..., Any] | str | None


def activation_of(given: _Activation) -> Callable[..., Any]:
    """Return an activation by its name in Keras; by default the hyperbolic tangent."""
    return keras.activations.get(given) if given else jnp.tanh


def input_size(cell: object, shape: Any) -> int:
    """Return the size of a cell's inputs.

    Raises:
        BadArgumentError: If they are no matrix.
    """
    if len(shape) != 2:
        raise errors.BadArgumentError(
            f"{type(cell).__name__} takes a matrix, shape (batch, size). Received: shape {tuple(shape)}."
        )
    return int(shape[1])


def affine(inputs: Any, kernel: Any, bias: Any) -> Any:
    """Return the product of tensors, side by side, with a matrix, and a bias added."""
    product = jnp.matmul(jnp.concatenate([on_device(each) for each in inputs], 1), on_device(kernel))
    return product if bias is None else product + on_device(bias)


class BasicRNNCell(LayerRNNCell):
    """The plainest cell: `activation([inputs, state] @ kernel + bias)`, as `tf.nn.rnn_cell.BasicRNNCell`.

    Args:
        num_units: The size of state and output.
        activation: A function of a tensor, or the name of one of Keras'; by default tanh.
        reuse: Whether the variables must be there already.
        name: The cell's name.
        dtype: The variables' dtype; by default that of the inputs.
        **kwargs: Those of :class:`RNNCell`.
    """

    def __init__(
        self,
        num_units: int,
        activation: _Activation = None,
        reuse: object = None,
        name: str | None = None,
        dtype: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(name=name, dtype=dtype, **{"_reuse": reuse, **kwargs})
        self._num_units = num_units
        self._activation = activation_of(activation)

    @property
    def state_size(self) -> int:
        """The size of the state."""
        return self._num_units

    @property
    def output_size(self) -> int:
        """The size of the output."""
        return self._num_units

    def build(self, inputs_shape: object) -> None:
        """Make `kernel` and `bias`."""
        size = input_size(self, inputs_shape)
        # One matrix for both, the inputs' rows first, as in TensorFlow's checkpoints.
        self._kernel = self.add_variable("kernel", [size + self._num_units, self._num_units])
        self._bias = self.add_variable("bias", [self._num_units], initializer=Zeros())

    def call(self, inputs: object, state: object) -> Any:
        """Return the output of one step, and the state behind it."""
        output = self._activation(affine([inputs, state], self._kernel, self._bias))
        return output, output


class GRUCell(LayerRNNCell):
    """The gated recurrent unit of Cho et al. (2014), as `tf.nn.rnn_cell.GRUCell`.

    Args:
        num_units: The size of state and output.
        activation: A function of a tensor, or the name of one of Keras'; by default tanh.
        reuse: Whether the variables must be there already.
        kernel_initializer: Gives the matrices' first values; by default the variable scope's.
        bias_initializer: Gives the biases'; by default 1 for the gates and 0 for the candidate.
        name: The cell's name.
        dtype: The variables' dtype; by default that of the inputs.
        **kwargs: Those of :class:`RNNCell`.
    """

    def __init__(
        self,
        num_units: int,
        activation: _Activation = None,
        reuse: object = None,
        kernel_initializer: Any = None,
        bias_initializer: object = None,
        name: str | None = None,
        dtype: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(name=name, dtype=dtype, **{"_reuse": reuse, **kwargs})
        self._num_units = num_units
        self._activation = activation_of(activation)
        self._kernel_initializer = kernel_initializer
        self._bias_initializer = bias_initializer

    @property
    def state_size(self) -> int:
        """The size of the state."""
        return self._num_units

    @property
    def output_size(self) -> int:
        """The size of the output."""
        return self._num_units

    # Of the gates' and the candidate's matrix and bias.
    _names = ("gates/kernel", "gates/bias", "candidate/kernel", "candidate/bias")

    def build(self, inputs_shape: object) -> None:
        """Make the matrices and biases of the gates and of the candidate."""
        rows, units = input_size(self, inputs_shape) + self._num_units, self._num_units
        gates, gates_bias, candidate, candidate_bias = self._names
        kernels, biases = self._kernel_initializer, self._bias_initializer
        self._gate_kernel = self.add_variable(gates, [rows, 2 * units], initializer=kernels)
        # TensorFlow's 1.0 has both gates let the old state through at first.
        self._gate_bias = self.add_variable(
            gates_bias, [2 * units], initializer=Constant(1.0) if biases is None else biases
        )
        self._candidate_kernel = self.add_variable(candidate, [rows, units], initializer=kernels)
        self._candidate_bias = self.add_variable(
            candidate_bias, [units], initializer=Zeros() if biases is None else biases
        )

    def call(self, inputs: Any, state: Any) -> Any:
        """Return the output of one step, and the state behind it."""
        gates = jax.nn.sigmoid(affine([inputs, state], self._gate_kernel, self._gate_bias))
        reset, update = jnp.split(gates, 2, axis=1)
        # The gate comes before the product: TensorFlow's cell, and not the one of cuDNN.
        candidate = affine([inputs, reset * state], self._candidate_kernel, self._candidate_bias)
        output = update * state + (1 - update) * self._activation(candidate)
        return output, output


class LSTMCell(LayerRNNCell):
    """The long short-term memory, as `tf.nn.rnn_cell.LSTMCell`, with peepholes, a projection and clipping.

    Args:
        num_units: The size of the cell's state.
        use_peepholes: Whether the gates see the cell's state.
        cell_clip: The largest magnitude of the cell's state; None for no limit.
        initializer: Gives the first values of matrices and peepholes; by default the variable scope's.
        num_proj: The size of the output, which is multiplied by a matrix; None for none.
        proj_clip: The largest magnitude of what is projected.
        num_unit_shards: Ignored.
        num_proj_shards: Ignored.
        forget_bias: Added to the forget gate.
        state_is_tuple: False: the state is one tensor, of both parts side by side.
        activation: A function of a tensor, or the name of one of Keras'; by default tanh.
        reuse: Whether the variables must be there already.
        name: The cell's name.
        dtype: The variables' dtype; by default that of the inputs.
        **kwargs: Those of :class:`RNNCell`.
    """

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        cell_clip: float | None = None,
        initializer: object = None,
        num_proj: int | None = None,
        proj_clip: float | None = None,
        num_unit_shards: object = None,
        num_proj_shards: object = None,
        forget_bias: float = 1.0,
        state_is_tuple: bool = True,
        activation: _Activation = None,
        reuse: object = None,
        name: str | None = None,
        dtype: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(name=name, dtype=dtype, **{"_reuse": reuse, **kwargs})
        self._num_units = num_units
        self._use_peepholes = use_peepholes
        self._cell_clip = cell_clip
        self._initializer = initializer
        self._num_proj = num_proj
        self._proj_clip = proj_clip
        self._forget_bias = forget_bias
        self._state_is_tuple = state_is_tuple
        self._activation = activation_of(activation)

    # In the order in which they are made.
    _peepholes: tuple[str, ...] = ("w_f_diag", "w_i_diag", "w_o_diag")

    @property
    def state_size(self) -> Any:
        """The sizes of the state's parts, or their sum."""
        sizes = LSTMStateTuple(self._num_units, self.output_size)
        return sizes if self._state_is_tuple else sum(sizes)

    @property
    def output_size(self) -> int:
        """The size of the output."""
        return self._num_proj or self._num_units

    def build(self, inputs_shape: object) -> None:
        """Make `kernel` and `bias`, and what peepholes and a projection need."""
        # What is fed back is the output, which a projection makes smaller than the state.
        rows, units = input_size(self, inputs_shape) + self.output_size, self._num_units
        self._kernel = self.add_variable("kernel", [rows, 4 * units], initializer=self._initializer)
        self._bias = self.add_variable("bias", [4 * units], initializer=Zeros())
        if self._use_peepholes:
            for name in self._peepholes:
                setattr(self, f"_{name}", self.add_variable(name, [units], initializer=self._initializer))
        if self._num_proj:
            self._proj_kernel = self.add_variable(
                "projection/kernel", [units, self._num_proj], initializer=self._initializer
            )

    def call(self, inputs: object, state: object) -> Any:
        """Return the output of one step, and the state behind it."""
        before, hidden = self._parts_of(state)
        gates = affine([inputs, hidden], self._kernel, self._bias)
        # In the order of TensorFlow's matrix, which checkpoints have: input, candidate, forget, output.
        i, j, f, o = jnp.split(gates, 4, axis=1)
        new = jax.nn.sigmoid(f + self._forget_bias + self._peep("f", before)) * before + jax.nn.sigmoid(
            i + self._peep("i", before)
        ) * self._activation(j)
        new = self._clip(new)
        # The output gate sees the new state, the others the one before.
        output = jax.nn.sigmoid(o + self._peep("o", new)) * self._activation(new)
        if self._num_proj:
            output = clip(jnp.matmul(output, on_device(self._proj_kernel)), self._proj_clip)
        if self._state_is_tuple:
            return output, LSTMStateTuple(new, output)
        return output, jnp.concatenate([new, output], 1)

    def _parts_of(self, state: Any) -> tuple[Any, Any]:
        if not self._state_is_tuple:
            return state[:, : self._num_units], state[:, self._num_units :]
        if not isinstance(state, list | tuple) or len(state) != 2:
            raise errors.BadArgumentError(
                f"The state of an LSTM is a pair (c, h). Received: state={shown(state)}."
            )
        return state[0], state[1]

    def _clip(self, state: object) -> Any:
        return clip(state, self._cell_clip)

    def _peep(self, gate: str, state: object) -> Any:
        return on_device(getattr(self, f"_w_{gate}_diag")) * state if self._use_peepholes else 0


def clip(array: Any, limit: float | None) -> Any:
    """Return an array with elements of at most a magnitude; None for no limit."""
    return array if limit is None else jnp.clip(array, -limit, limit)


class BasicLSTMCell(LSTMCell):
    """The long short-term memory of Zaremba et al. (2014), as `tf.nn.rnn_cell.BasicLSTMCell`.

    Args:
        num_units: The size of state and output.
        forget_bias: Added to the forget gate.
        state_is_tuple: False: the state is one tensor, of both parts side by side.
        activation: A function of a tensor, or the name of one of Keras'; by default tanh.
        reuse: Whether the variables must be there already.
        name: The cell's name.
        dtype: The variables' dtype; by default that of the inputs.
        **kwargs: Those of :class:`RNNCell`.
    """

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        state_is_tuple: bool = True,
        activation: _Activation = None,
        reuse: object = None,
        name: str | None = None,
        dtype: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            num_units,
            forget_bias=forget_bias,
            state_is_tuple=state_is_tuple,
            activation=activation,
            reuse=reuse,
            name=name,
            dtype=dtype,
            **kwargs,
        )
