"""Cells of `tf.contrib.rnn`: those of TensorFlow's fused kernels, normalized ones, wrappers with projections."""

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from stratax import errors
from stratax.base.shown import shown
from stratax.tensorflow import v1
from stratax.tensorflow.ops.calls.creation import on_device
from stratax.tensorflow.ops.nn import nn
from stratax.tensorflow.v1.rnn_cell import GRUCell, LSTMCell, LSTMStateTuple, RNNCell

_Activation = Callable[..., Any]


class LSTMBlockCell(LSTMCell):
    """The cell of TensorFlow's fused kernel, as `tf.contrib.rnn.LSTMBlockCell`; its variables are LSTMCell's.

    Args:
        num_units: The size of state and output.
        forget_bias: Added to the forget gate.
        cell_clip: The largest magnitude of the cell's state; None or a number below 0 for no limit.
        use_peephole: Whether the gates see the cell's state.
        dtype: The variables' dtype; by default that of the inputs.
        reuse: Whether the variables must be there already.
        name: The cell's name.
    """

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        cell_clip: float | None = None,
        use_peephole: bool = False,
        dtype: Any = None,
        reuse: object = None,
        name: str | None = "lstm_cell",
    ) -> None:
        super().__init__(
            num_units,
            use_peepholes=use_peephole,
            # The kernel takes other numbers for none.
            cell_clip=cell_clip if cell_clip and cell_clip > 0 else None,
            forget_bias=forget_bias,
            reuse=reuse,
            name=name,
            dtype=dtype,
        )

    _peepholes = ("w_i_diag", "w_f_diag", "w_o_diag")

    def _clip(self, state: object) -> Any:
        # The kernel's gradient is as if nothing had been clipped.
        return state + jax.lax.stop_gradient(super()._clip(state) - state)


class GRUBlockCellV2(GRUCell):
    """The cell of TensorFlow's fused kernel, as `tf.contrib.rnn.GRUBlockCellV2`; its variables are GRUCell's.

    Args:
        num_units: The size of state and output.
        cell_size: The older name of `num_units`.
        reuse: Whether the variables must be there already.
        name: The cell's name.

    Raises:
        BadArgumentError: If not exactly one size is given.
    """

    def __init__(
        self,
        num_units: int | None = None,
        cell_size: int | None = None,
        reuse: object = None,
        name: str | None = "gru_cell",
    ) -> None:
        given = [each for each in (num_units, cell_size) if each is not None]
        if len(given) != 1:
            raise errors.BadArgumentError(
                "Exactly one of num_units or cell_size must be provided. Received: "
                f"num_units={num_units}, cell_size={cell_size}."
            )
        super().__init__(given[0], reuse=reuse, name=name)


class GRUBlockCell(GRUBlockCellV2):
    """As :class:`GRUBlockCellV2`, with variables `w_ru`, `b_ru`, `w_c` and `b_c`."""

    _names = ("w_ru", "b_ru", "w_c", "b_c")


class LayerNormBasicLSTMCell(RNNCell):
    """An LSTM whose gates and state are normalized, as `tf.contrib.rnn.LayerNormBasicLSTMCell`.

    Args:
        num_units: The size of state and output.
        forget_bias: Added to the forget gate.
        input_size: Ignored.
        activation: A function of a tensor.
        layer_norm: Whether it normalizes; without, there is a bias.
        norm_gain: The first value of the normalizations' factors.
        norm_shift: The first value of what they add.
        dropout_keep_prob: The chance that an element of a candidate stays.
        dropout_prob_seed: As for `tf.nn.dropout`.
        reuse: Whether the variables must be there already.
    """

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        input_size: object = None,
        activation: _Activation = jnp.tanh,
        layer_norm: bool = True,
        norm_gain: float = 1.0,
        norm_shift: float = 0.0,
        dropout_keep_prob: Any = 1.0,
        dropout_prob_seed: int | None = None,
        reuse: object = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        self._num_units = num_units
        self._forget_bias = forget_bias
        self._activation = activation
        self._layer_norm = layer_norm
        self._first = (norm_gain, norm_shift)
        self._keep = dropout_keep_prob
        self._seed = dropout_prob_seed

    @property
    def state_size(self) -> Any:
        """The sizes of the state's parts."""
        return LSTMStateTuple(self._num_units, self._num_units)

    @property
    def output_size(self) -> int:
        """The size of the output."""
        return self._num_units

    def call(self, inputs: Any, state: Any) -> Any:
        """Return the output of one step, and the state behind it."""
        c, h = state
        given = jnp.concatenate([inputs, h], 1)
        i, j, f, o = jnp.split(linear(given, 4 * self._num_units, not self._layer_norm, None), 4, axis=1)
        i, j = self._normalize(i, "input"), self._normalize(j, "transform")
        f, o = self._normalize(f, "forget"), self._normalize(o, "output")
        candidate = self._activation(j)
        if not isinstance(self._keep, float) or self._keep < 1:
            candidate = nn.dropout(candidate, 1 - self._keep, seed=self._seed)
        new = c * jax.nn.sigmoid(f + self._forget_bias) + jax.nn.sigmoid(i) * candidate
        new = self._normalize(new, "state")
        output = self._activation(new) * jax.nn.sigmoid(o)
        return output, LSTMStateTuple(new, output)

    def _normalize(self, array: Any, scope: str) -> Any:
        if not self._layer_norm:
            return array
        shape, (gain, shift) = array.shape[-1:], self._first
        with v1.variable_scope(scope):
            gamma = v1.get_variable("gamma", shape, array.dtype, v1.constant_initializer(gain))
            beta = v1.get_variable("beta", shape, array.dtype, v1.constant_initializer(shift))
        mean = jnp.mean(array, -1, keepdims=True)
        variance = jnp.mean(jnp.square(array - mean), -1, keepdims=True)
        return (array - mean) * jax.lax.rsqrt(variance + 1e-12) * on_device(gamma) + on_device(beta)


def linear(inputs: Any, size: int, bias: bool, bias_initializer: Any) -> Any:
    """Multiply by a matrix `kernel`, and add a `bias`; both are made in the variable scope that is entered.

    Args:
        inputs: A matrix.
        size: The result's last dimension.
        bias: Whether there is a bias.
        bias_initializer: Gives its first value; None for the variable scope's.
    """
    product = inputs @ on_device(v1.get_variable("kernel", [inputs.shape[-1], size], inputs.dtype))
    if not bias:
        return product
    return product + on_device(v1.get_variable("bias", [size], inputs.dtype, bias_initializer))


class _Around(RNNCell):
    """A cell around another one, in a variable scope of its own."""

    def __init__(self, cell: Any, reuse: object = None) -> None:
        super().__init__(_reuse=reuse)
        self._cell = cell

    def _parts(self) -> list[Any]:
        return [self._cell]

    @property
    def state_size(self) -> Any:
        """The size of the cell's state."""
        return self._cell.state_size

    @property
    def output_size(self) -> Any:
        """The size of the output."""
        return self._cell.output_size

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """Return the cell's zeros."""
        return self._cell.zero_state(batch_size, dtype)


class InputProjectionWrapper(_Around):
    """A cell whose inputs are multiplied by a matrix, as `tf.contrib.rnn.InputProjectionWrapper`.

    Args:
        cell: The cell.
        num_proj: The size of what it gets.
        activation: Applied to that.
        input_size: Ignored.
        reuse: Whether the variables must be there already.
    """

    def __init__(
        self,
        cell: Any,
        num_proj: int,
        activation: _Activation | None = None,
        input_size: object = None,
        reuse: object = None,
    ) -> None:
        super().__init__(cell, reuse)
        self._num_proj = num_proj
        self._activation = activation

    def call(self, inputs: object, state: Any) -> Any:
        """Return the output of one step, and the state behind it."""
        projected = linear(inputs, self._num_proj, True, v1.zeros_initializer())
        return self._cell(self._activation(projected) if self._activation else projected, state)


class OutputProjectionWrapper(_Around):
    """A cell whose outputs are multiplied by a matrix, as `tf.contrib.rnn.OutputProjectionWrapper`.

    Args:
        cell: The cell.
        output_size: The size of the outputs.
        activation: Applied to them.
        reuse: Whether the variables must be there already.

    Raises:
        BadArgumentError: If the size is not above 0.
    """

    def __init__(
        self, cell: Any, output_size: int, activation: _Activation | None = None, reuse: object = None
    ) -> None:
        super().__init__(cell, reuse)
        if output_size < 1:
            raise errors.BadArgumentError(
                f"Parameter output_size must be > 0. Received: output_size={shown(output_size)}."
            )
        self._output_size = output_size
        self._activation = activation

    @property
    def output_size(self) -> int:
        """The size of the output."""
        return self._output_size

    def call(self, inputs: Any, state: Any) -> Any:
        """Return the output of one step, and the state behind it."""
        output, new = self._cell(inputs, state)
        projected = linear(output, self._output_size, True, v1.zeros_initializer())
        return (self._activation(projected) if self._activation else projected), new


class EmbeddingWrapper(_Around):
    """A cell whose inputs are rows of a matrix, looked up, as `tf.contrib.rnn.EmbeddingWrapper`.

    Args:
        cell: The cell.
        embedding_classes: How many rows there are.
        embedding_size: Their size.
        initializer: Gives their first values; by default the variable scope's, or uniform ones of a variance of 1.
        reuse: Whether the variables must be there already.
    """

    def __init__(
        self,
        cell: Any,
        embedding_classes: int,
        embedding_size: int,
        initializer: Any = None,
        reuse: object = None,
    ) -> None:
        super().__init__(cell, reuse)
        self._sizes = [embedding_classes, embedding_size]
        self._initializer = initializer

    def call(self, inputs: Any, state: Any) -> Any:
        """Return the output of one step, and the state behind it."""
        edge: Any = math.sqrt(3)
        initializer = (
            self._initializer
            or v1.get_variable_scope().initializer
            or v1.random_uniform_initializer(-edge, edge)
        )
        dtype = jax.tree.leaves(state)[0].dtype
        table = v1.get_variable("embedding", self._sizes, dtype, initializer)
        return self._cell(on_device(table)[jnp.ravel(inputs)], state)
