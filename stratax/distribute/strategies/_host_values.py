"""Values of the host for variables that devices have in parts, and theirs for the host (distribute layer).

Keras puts an array of NumPy on its default device and divides it there, lets JAX keep what NumPy has read, and writes a
model's file in memory where that seems to have room. Each is a whole variable, or model, where there may be none. Where
the parts lie on devices of several processes, JAX compares what each of them would divide, the whole of it.
"""

import functools
import warnings
from collections.abc import Callable
from typing import Any

import jax
import keras
import numpy as np

from stratax.base.callers import stack_level
from stratax.base.shown import shown
from stratax.core import storage
from stratax.distribute.strategies._layout import LARGE
from stratax.distribute.strategies._led import find_leader
from stratax.seams import keras as seam

# Of these dtypes NumPy and JAX make the same numbers of 32 bits.
_SAME = {("float64", "float32"), ("int64", "int32")}
# The attribute of a variable of which one was told.
_HAS_WARNED = "_stratax_has_warned"
_VARIABLE = "keras.src.backend.common.variables:Variable"


# Takes a variable and what is to be its first value, and returns what it is in all processes.
FindFirst = Callable[[keras.Variable, jax.Array], Any]


def install(find_first: FindFirst) -> None:
    """Put the hooks in place, when a variable is divided for the first time; a second call changes nothing.

    Args:
        find_first: Finds first values of variables that devices of several processes have in parts.
    """
    seam.install(
        "stratax.distribute.parts",
        {
            f"{_VARIABLE}.assign": _placing,
            f"{_VARIABLE}.__array__": _reading,
            "keras.src.backend.jax.core:JaxVariable._direct_assign": functools.partial(_dividing, find_first),
            "keras.src.saving.saving_lib:is_memory_sufficient": _if_whole,
        },
    )


def _placing(original: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap Keras' `assign`: each device takes its part of a value of the host."""

    @functools.wraps(original)
    def assign(self: Any, value: Any, *options: object, **named: object) -> Any:
        # Variables that lie whole are asked no more than this.
        if self._layout is not None and isinstance(value, np.ndarray) and not seam.in_stateless_scope():
            value = _place(self, value)
        return original(self, value, *options, **named)

    return assign


def _place(variable: Any, value: np.ndarray) -> Any:
    held = storage.find_divided(variable)
    # What does not fit is refused by Keras.
    if held is None or held.shape != value.shape:
        return value
    dtypes = value.dtype.name, held.dtype.name
    if dtypes[0] != dtypes[1] and dtypes not in _SAME:
        return value
    storage.check_fits([value])
    _lead(variable, value.astype(held.dtype, copy=False))
    # Copied: on CPUs, JAX shares the memory of a NumPy array, which may change later.
    made = jax.make_array_from_callback(
        held.shape, held.sharding, lambda index: np.array(value[index], held.dtype)
    )
    # One after the other: the host has what is on its way, of a whole model where nobody waits.
    return jax.block_until_ready(made)


def _dividing(find_first: FindFirst, original: Callable[[Any, Any], None]) -> Callable[[Any, Any], None]:
    """Wrap Keras' `_direct_assign`: of an array on a device of its own, each process takes what its devices have."""

    @functools.wraps(original)
    def _direct_assign(self: Any, value: Any) -> None:
        layout = self._layout
        is_elsewhere = isinstance(layout, jax.sharding.Sharding) and not layout.is_fully_addressable
        # What is traced has no place: a variable that is made in a trace of JAX.
        is_value = isinstance(value, jax.Array) and not isinstance(value, jax.core.Tracer)
        if is_elsewhere and is_value and value.is_fully_addressable:
            is_first = self.__dict__.get("_value") is None
            value = np.asarray(find_first(self, value) if is_first else value)
            if not is_first:
                _lead(self, value)
            value = storage.place(value, layout)
        original(self, value)

    return _direct_assign


def _lead(variable: keras.Variable, value: np.ndarray) -> None:
    """Have the other workers assign what the chief assigns alone, where they wait for that."""
    leader = find_leader()
    if leader is not None:
        leader.assign(variable, value)


def _reading(original: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap Keras' `Variable.__array__`: what is put together for NumPy is NumPy's alone."""

    @functools.wraps(original)
    def __array__(self: Any, dtype: Any = None) -> Any:
        if self._layout is None or seam.in_stateless_scope():
            return original(self, dtype)
        value = self.value
        if not storage.is_divided(value):
            return original(self, dtype)
        if value.size >= LARGE and seam.is_in_layer():
            _warn_once(self)
        whole = storage.read_whole(value)
        return whole if dtype is None else whole.astype(dtype, copy=False)

    return __array__


def _warn_once(variable: Any) -> None:
    if variable.__dict__.setdefault(_HAS_WARNED, False):
        return
    variable.__dict__[_HAS_WARNED] = True
    warnings.warn(
        f"A layer reads all of the variable {shown(variable.path)} of shape {tuple(variable.shape)} in Python, at each "
        f"call: the host puts {variable.value.nbytes >> 20:,} MiB together, of which each device has a part. Compute "
        "with the variable itself, by jax.numpy or keras.ops.",
        stacklevel=stack_level(),
    )


def _if_whole(original: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """Have the weights of a `.keras` file go through a file, and not through memory, where devices have only parts."""

    @functools.wraps(original)
    def is_memory_sufficient(model: Any) -> bool:
        is_in_parts = any(storage.find_divided(variable) is not None for variable in model.variables)
        return not is_in_parts and original(model)

    return is_memory_sufficient
