"""What every recurrent cell of TensorFlow 1 is, also one of a program's own: `tf.nn.rnn_cell.RNNCell` (v1 layer)."""

import inspect
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import keras

from stratax import errors
from stratax.base.recording import composite
from stratax.base.shown import shown
from stratax.data.elements import TensorShape
from stratax.tensorflow.ops.calls.creation import on_device, zeros
from stratax.tensorflow.v1._layer import Layer
from stratax.tensorflow.v1._variable_scope import variable_scope


class _LSTMStateTuple(NamedTuple):
    c: Any
    h: Any


class LSTMStateTuple(_LSTMStateTuple):
    """The state of an LSTM, as `tf.nn.rnn_cell.LSTMStateTuple`: the cell's state `c` and its output `h`.

    Args:
        c: A tensor, shape `(batch, units)`; in a cell's `state_size`, its size.
        h: Likewise.

    Example:
        >>> from stratax.tensorflow.v1 import rnn_cell
        >>> rnn_cell.LSTMStateTuple(c=1, h=2)
        LSTMStateTuple(c=1, h=2)
    """

    __slots__ = ()

    @property
    def dtype(self) -> Any:
        """The dtype of both.

        Raises:
            BadTypeError: If they differ.
        """
        if self.c.dtype != self.h.dtype:
            raise errors.BadTypeError(
                f"Both parts of a state have one dtype. Received: {self.c.dtype} and {self.h.dtype}."
            )
        return self.c.dtype


def check_cell(name: str, cell: object) -> None:
    """Refuse what is no cell.

    Args:
        name: The argument's name.
        cell: The argument.

    Raises:
        BadTypeError: If it has no sizes, no first state, or can't be called.
    """
    lacking = [each for each in ("output_size", "state_size") if not hasattr(cell, each)]
    # TensorFlow 1's cells have the one, Keras' the other.
    if not (hasattr(cell, "zero_state") or hasattr(cell, "get_initial_state")):
        lacking.append("zero_state")
    if lacking or not callable(cell):
        raise errors.BadTypeError(
            f"The argument {name} is not an RNNCell. Expected: state_size, output_size, zero_state and a call. "
            f"Received: {shown(cell)}, without {', '.join(lacking) or 'a call'}."
        )


def sizes_of(size: object) -> list[int]:
    """Return the sizes behind the batch's, of a part of `state_size` or `output_size`."""
    parts: Any = size if isinstance(size, TensorShape) else [size]
    return [int(each) for each in parts]


class RNNCell(Layer):
    """One step of a recurrent net, as `tf.nn.rnn_cell.RNNCell`: base class of cells.

    A subclass has the properties `state_size` and `output_size`, and `call(inputs, state)`, which returns the output
    and the next state. It makes its variables in `build`, or in `call` with `tf.get_variable`.

    Args:
        trainable: Whether optimizers see its variables.
        name: Its name, that of the variable scope; by default that of the class in snake case.
        dtype: Its variables' dtype; by default that of the inputs.
        **kwargs: `_reuse`: whether the variables must be there already.
    """

    built: bool
    # Keras would wrap lists and refuse new attributes once a layer is built.
    __setattr__ = object.__setattr__

    def __init__(
        self, trainable: bool = True, name: str | None = None, dtype: object = None, **kwargs: object
    ) -> None:
        super().__init__(trainable=trainable, name=name, dtype=dtype, **kwargs)
        self._cell_variables: list[keras.Variable] = []

    @property
    def state_size(self) -> Any:
        """The size of the state, or a nested structure of sizes; each a number or a TensorShape."""
        raise NotImplementedError(f"{type(self).__name__} has no state_size.")

    @property
    def output_size(self) -> Any:
        """The size of the output, likewise."""
        raise NotImplementedError(f"{type(self).__name__} has no output_size.")

    def build(self, inputs_shape: object) -> None:
        """Make the variables, on the first call.

        Args:
            inputs_shape: The shape of the inputs.
        """

    @composite
    def __call__(self, inputs: Any, state: Any, scope: Any = None, *args: Any, **kwargs: Any) -> Any:
        """Run one step.

        Args:
            inputs: A tensor, shape `(batch, size)`, or a nested structure of them.
            state: As the last step returned it, or as `zero_state` does.
            scope: The variable scope, or its name; by default one of the cell's name.
            *args: What else `call` takes.
            **kwargs: Likewise.

        Returns:
            The output and the next state.
        """
        inputs = jax.tree.map(on_device, inputs)
        self._check_dtypes(inputs)
        # What the call makes with `get_variable`, in whatever function, is the cell's.
        with variable_scope(
            self._scope_of_call(scope), custom_getter=self._noting, reuse=self.built or self._reuse
        ) as entered:
            if not self.built:
                shapes = jax.tree.map(lambda each: TensorShape(each.shape), inputs)
                self.build(shapes)
                self.built = True
            # A cell may ask for the scope, and need not.
            if _takes_scope(self.call):
                kwargs["scope"] = entered
            return self.call(inputs, state, *args, **kwargs)

    def _check_dtypes(self, inputs: object) -> None:
        if not self.built and not self._is_dtype_given:
            self.dtype_policy = keras.DTypePolicy(self._infer_dtype(inputs))

    def _noting(self, getter: Any, *args: Any, **kwargs: Any) -> Any:
        """Make a variable, which is the cell's."""
        variable = getter(*args, **kwargs)
        if isinstance(variable, keras.Variable):
            self._track_variable(variable)
        return variable

    def _track_variable(self, variable: keras.Variable) -> None:
        # By identity: outside of a model_fn `==` compares values.
        if all(variable is not each for each in self._cell_variables):
            self._cell_variables.append(variable)

    def _parts(self) -> list[Any]:
        """Return the cells that it consists of."""
        return []

    @property
    def variables(self) -> list[keras.Variable]:
        """Its variables, and those of the cells that it consists of."""
        inner = [variable for cell in self._parts() for variable in getattr(cell, "variables", ())]
        # A cell that consists of others has made theirs as well.
        return list({id(each): each for each in (*self._cell_variables, *inner)}.values())

    @property
    def trainable_variables(self) -> list[keras.Variable]:
        """Those that optimizers see."""
        return [variable for variable in self.variables if variable.trainable and self.trainable]

    @property
    def non_trainable_variables(self) -> list[keras.Variable]:
        """Those that optimizers do not see."""
        return [variable for variable in self.variables if not (variable.trainable and self.trainable)]

    weights = variables
    trainable_weights = trainable_variables
    non_trainable_weights = non_trainable_variables

    def get_initial_state(self, inputs: Any = None, batch_size: Any = None, dtype: Any = None) -> Any:
        """Return zeros as state; see `zero_state`.

        Args:
            inputs: A tensor that tells the batch size and the dtype.
            batch_size: The batch size, without `inputs`.
            dtype: The dtype, without `inputs`.
        """
        if inputs is not None:
            inputs = on_device(inputs)
            batch_size, dtype = inputs.shape[0], inputs.dtype
        if batch_size is None or dtype is None:
            raise errors.BadArgumentError(
                "batch_size and dtype cannot be None while constructing initial state. Received: "
                f"batch_size={shown(batch_size)}, dtype={shown(dtype)}."
            )
        return self.zero_state(batch_size, dtype)

    @composite
    def zero_state(self, batch_size: object, dtype: object) -> Any:
        """Return zeros as state.

        Args:
            batch_size: The size of its first dimension.
            dtype: Its dtype.

        Returns:
            The structure of `state_size`, with tensors.
        """
        return zero_states(self.state_size, batch_size, dtype)


def zero_states(size: Any, batch_size: Any, dtype: Any) -> Any:
    """Return zeros in the structure of a cell's `state_size`."""
    return jax.tree.map(lambda each: zeros([batch_size, *sizes_of(each)], dtype), size)


def _takes_scope(function: Any) -> bool:
    return "scope" in inspect.signature(function).parameters


class LayerRNNCell(RNNCell):
    """A cell that makes its variables in `build`, as TensorFlow's own are: base class of cells."""

    def _check_dtypes(self, inputs: object) -> None:
        super()._check_dtypes(inputs)
        if not all(jnp.issubdtype(each.dtype, jnp.inexact) for each in jax.tree.leaves(inputs)):
            raise errors.BadArgumentError(
                "RNN cell only supports floating point inputs. Received: "
                f"{shown([str(each.dtype) for each in jax.tree.leaves(inputs)])}."
            )
