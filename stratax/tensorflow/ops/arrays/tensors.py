"""What JAX' arrays are given in programs that import `stratax.tf`: the methods of TensorFlow's tensors (ops layer)."""

import functools
import sys
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from stratax.base.callers import is_library
from stratax.base.typing import DTypeLike
from stratax.core import storage
from stratax.core.known import take_text
from stratax.data.elements import DType, TensorMethods, TensorShape, as_array, as_tensor
from stratax.errors import StrategyError
from stratax.seams import jax_arrays
from stratax.tensorflow.ops.calls import naming, operators

# What tensors of TensorFlow have and JAX' arrays lack.
_METHODS = ("get_shape", "set_shape", "ref", "experimental_ref", "eval", "consumers", "name", "op", "graph")


def _assign(self: object) -> Any:
    return storage.assign_part(self)


def numpy(self: Any) -> Any:
    """Return the values as a NumPy array of their own, or as a scalar of NumPy.

    Raises:
        StrategyError: If other processes have parts of the array.
    """
    if not (self.is_fully_addressable or self.is_fully_replicated):
        raise StrategyError(
            "Other processes have parts of this array. Expected: an array that this process has all of. Received: one "
            f"of shape {tuple(self.shape)}, on {len(self.sharding.device_set)} devices. Use strategy.gather, "
            "strategy.reduce or strategy.experimental_local_results first."
        )
    # A copy: what JAX gives can't be changed, what TensorFlow gives can.
    return np.array(self)[()]


def _no_value(self: Any) -> NoReturn:
    """Raise an AttributeError, as TensorFlow does for tensors that have no value yet."""
    raise AttributeError(
        "A tensor has no `numpy` while a compiled function is traced: its value is known when the function runs. "
        f"Expected: numpy() outside of compiled functions. Received: a tensor of shape {tuple(self.shape)} and dtype "
        f"{self.dtype}. Return it and call numpy() on what the function gives, or print it with tf.print.",
        name="numpy",
    )


def _of_graph(name: str, attribute: Callable[[Any, Any], Any]) -> property:
    """Return an attribute that a traced value has if it is a tensor of a graph."""
    otherwise = vars(TensorMethods)[name].fget

    def find(self: Any) -> Any:
        operation = naming.operation_of(self)
        return otherwise(self) if operation is None else attribute(self, operation)

    return property(find)


# What a tensor has in a graph only: a traced value, of a model_fn.
_OF_GRAPHS = {
    "name": _of_graph("name", lambda tensor, operation: operation.name_of(tensor)),
    "op": _of_graph("op", lambda tensor, operation: operation),
    "graph": _of_graph("graph", lambda tensor, operation: operation.graph),
}


def _dtype_of(dtype: DTypeLike) -> Any:
    """Return the dtype that a `model_fn` sees: TensorFlow's, with its attributes; to libraries it is NumPy's."""
    if not naming.is_told() or not isinstance(dtype, np.dtype):
        return dtype
    # Behind this function and the property.
    return dtype if is_library(sys._getframe(2).f_code.co_filename) else DType(dtype)


def install_in_keras() -> None:
    """Give Keras' symbolic tensors and variables the same, as far as they have it."""
    import keras

    from stratax.seams import keras as seam

    methods = {
        name: vars(TensorMethods)[name] for name in ("get_shape", "set_shape", "ref", "experimental_ref")
    }
    seam.give_attributes(keras.KerasTensor, {**methods, "numpy": property(_no_value)})
    # NumPy's arrays leave arithmetic to the variable, whose operators a tape sees.
    seam.give_attributes(keras.Variable, {**methods, "__array_priority__": 100})
    for kind in (keras.KerasTensor, keras.Variable):
        seam.give_shapes(kind, TensorShape)


def install() -> None:
    """Give JAX' arrays the methods, the operators, and shapes that are `TensorShape`s."""
    methods = {name: vars(TensorMethods)[name] for name in _METHODS}
    methods["assign"] = property(_assign)
    # Arrays with values first, then traced ones.
    jax_arrays.give_attributes(
        {**methods, "numpy": numpy, "_numpy": numpy}, {**methods, **_OF_GRAPHS, "numpy": property(_no_value)}
    )
    # Layers of Keras 2 say by it whether a tensor depends on `training`, which each call is told here.
    jax_arrays.take_mark("_uses_learning_phase")
    jax_arrays.give_shapes(TensorShape)
    jax_arrays.give_dtypes_to_tracers(_dtype_of)
    jax_arrays.give_operators(
        {
            "getitem": operators.getitem,
            **{name: functools.partial(operators.operator, name) for name in operators.OPERATORS},
        },
        operators.__file__,
    )
    take_text(lambda value: as_tensor(as_array(value)))
