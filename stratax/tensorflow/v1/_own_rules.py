"""What a program's own optimizer of TensorFlow 1 builds on: slots, and one function for each gradient (v1 layer).

Such a class says in `_apply_dense` or `_resource_apply_dense` what a gradient does to a variable, and makes its slots
in `_create_slots` (as tensorflow/python/training/optimizer.py, 2.15).
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import keras
import numpy as np

from stratax.base.shown import shown
from stratax.core.regions import outside_scopes
from stratax.distribute.strategies import make_beside
from stratax.errors import BadArgumentError
from stratax.tensorflow.v1._current import current_or_none
from stratax.tensorflow.v1._made_now import make_now
from stratax.tensorflow.v1._operations import group
from stratax.tensorflow.v1.scopes import Scope

# First the one that TensorFlow asks of resource variables, which all variables are here.
_RULES = ("_resource_apply_dense", "_apply_dense")


class OwnRules:
    """The methods that a subclass of `tf.compat.v1.train.Optimizer` overrides or calls."""

    _name: str
    _slots: dict[str, dict[int, keras.Variable]]
    _shared: dict[str, keras.Variable]

    def _find_rule(self) -> Callable[[Any, keras.Variable], Any] | None:
        """Return what a subclass says of one gradient; None if it says nothing."""
        return next((getattr(self, name) for name in _RULES if hasattr(self, name)), None)

    def _create_slots(self, var_list: Sequence[keras.Variable]) -> None:
        """Make the slots of variables."""

    def _prepare(self) -> None:
        """Make what all variables share."""

    def _finish(self, update_ops: Sequence[Any], name_scope: str) -> Any:
        """Return the operation of a step, of those that change one variable each."""
        return group(*update_ops, name=name_scope)

    def _call_if_callable(self, param: Any) -> Any:
        return param() if callable(param) else param

    def _zeros_slot(self, var: keras.Variable, slot_name: str, op_name: str) -> keras.Variable:
        return self._slot(var, slot_name, op_name, np.zeros(tuple(var.shape), var.dtype))

    def _get_or_make_slot(
        self, var: keras.Variable, val: Any, slot_name: str, op_name: str
    ) -> keras.Variable:
        return self._slot(var, slot_name, op_name, val)

    def _get_or_make_slot_with_initializer(
        self,
        var: keras.Variable,
        initializer: Callable[..., Any],
        shape: Sequence[int],
        dtype: Any,
        slot_name: str,
        op_name: str,
    ) -> keras.Variable:
        return self._slot(var, slot_name, op_name, lambda: initializer(tuple(shape), dtype=dtype))

    def _create_non_slot_variable(
        self, initial_value: Any, name: str, colocate_with: keras.Variable
    ) -> keras.Variable:
        if name not in self._shared:
            self._shared[name] = _make(colocate_with, initial_value, name, is_slot=False)
        return self._shared[name]

    def _get_non_slot_variable(self, name: str, graph: object = None) -> keras.Variable | None:
        return self._shared.get(name)

    def _slot(self, var: keras.Variable, slot_name: str, op_name: str, value: Any) -> keras.Variable:
        own = self._slots.setdefault(slot_name, {})
        if id(var) not in own:
            scope = current_or_none()
            path = slot_name if scope is None else scope.slot_path(var.path, slot_name, op_name)
            own[id(var)] = _make(var, value, path, is_slot=True)
        return own[id(var)]


def make_slot(
    scope: Scope,
    variable: keras.Variable,
    name: str,
    initializer: Callable[..., Any],
    shape: Sequence[int] | None = None,
) -> keras.Variable:
    """Make a variable that is kept for another one, called as in TensorFlow's checkpoints.

    Args:
        scope: The scope.
        variable: The other one.
        name: Its full name, which begins with the other one's in most cases; a second one of the name gets `_1` behind
            it.
        initializer: Gives its first value.
        shape: Its shape; None for the other one's.
    """
    # `w/Adam`, then `w/Adam_1`: numbered in the order in which a variable gets its slots.
    full = name
    number = 0
    while scope.is_used(full):
        number += 1
        full = f"{name}_{number}"
    sizes = tuple(variable.shape if shape is None else shape)
    return make_beside(
        variable, functools.partial(scope.make_variable, full, sizes, variable.dtype, initializer)
    )


def _make(beside: keras.Variable, value: Any, name: str, *, is_slot: bool) -> keras.Variable:
    scope = current_or_none()
    if callable(value):
        # A first value belongs to no trace: what makes it runs now.
        with outside_scopes():
            value = value()
    # TensorFlow's would be a node of the graph; here it has to be known when the slot is made.
    if isinstance(value, jax.core.Tracer):
        value = _value_now(scope, value, name)
    array = np.asarray(value, beside.dtype)
    if scope is None:
        return make_now(beside, array, name)

    def initializer(shape: Any, dtype: Any) -> np.ndarray:
        return array

    # A slot's name is made of its variable's, and unique with it.
    path = name if is_slot else scope.names.unique(name)
    return make_slot(scope, beside, path, initializer, array.shape)


def _value_now(scope: Scope | None, value: Any, name: str) -> Any:
    """Return a first value that the program has computed, of constants."""
    try:
        if scope is not None:
            return scope.values.value_now(value)
    # It depends on more than constants.
    except LookupError:
        pass
    raise BadArgumentError(
        f"The first value of the slot {shown(name)} depends on what the program is given. Expected: a constant, such "
        "as tf.zeros(shape)."
    )
