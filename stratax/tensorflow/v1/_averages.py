"""Moving averages of variables, as `tf.compat.v1.train.ExponentialMovingAverage` (v1 layer)."""

from collections.abc import Callable, Iterable
from typing import Any

import jax.numpy as jnp
import keras
import numpy as np

from stratax.base.shown import shown
from stratax.base.typing import TensorLike
from stratax.core.regions import concrete_values, equal_on_all_replicas, outside_scopes
from stratax.distribute.replicas import ReduceOp, syncing_replicas
from stratax.errors import BadTypeError
from stratax.tensorflow.ops.calls.creation import on_device
from stratax.tensorflow.v1._collections import (
    GraphKeys,
    add_to_collection,
    global_variables,
    moving_average_variables,
    trainable_variables,
)
from stratax.tensorflow.v1._current import current_or_none, readable
from stratax.tensorflow.v1._made_now import make_now
from stratax.tensorflow.v1._operation import Operation, operations_of
from stratax.tensorflow.v1._own_rules import make_slot
from stratax.tensorflow.v1._variables import ModelVariable
from stratax.tensorflow.v1.scopes import Scope


class ExponentialMovingAverage:
    """Keeps moving averages of variables and tensors, as `tf.train.ExponentialMovingAverage`.

    Outside of a `model_fn` it keeps those of variables, as in TensorFlow 2: :meth:`apply` updates them at once.

    Args:
        decay: The decay: each update moves an average by `1 - decay` of the way.
        num_updates: How many updates there were, a number or a variable; then the decay is at most
            `(1 + num_updates) / (10 + num_updates)`. None for a constant decay.
        zero_debias: Whether averages of tensors, which start from 0, are corrected for that.
        name: The averages' name, behind those of the variables.
    """

    def __init__(
        self,
        decay: TensorLike,
        num_updates: TensorLike | None = None,
        zero_debias: bool = False,
        name: str = "ExponentialMovingAverage",
    ) -> None:
        self._decay = decay
        self._num_updates = num_updates
        self._zero_debias = zero_debias
        self._name = name
        # Of the trace whose tensors these are; with each tensor itself, as its id is free once it is gone.
        self._scope: Scope | None = None
        self._averages: dict[int, tuple[Any, keras.Variable]] = {}
        self._debiasing: dict[int, tuple[keras.Variable, keras.Variable]] = {}

    @property
    def name(self) -> str:
        """The averages' name."""
        return self._name

    def apply(self, var_list: Iterable[Any] | None = None) -> Operation | None:
        """Return the operation that updates averages, which are made where there are none yet.

        Outside of a `model_fn` they are updated at once.

        Args:
            var_list: Variables and tensors; by default the variables that are trained, outside of a `model_fn` none.
                The average of a variable starts from the variable's value, that of a tensor from 0.

        Raises:
            BadTypeError: If one of them is no floating-point number, or outside of a `model_fn` no variable.
        """
        scope = self._enter_scope()
        averaged = trainable_variables() if var_list is None else list(var_list)
        for each in averaged:
            _check_float(each)
            if scope is None and not isinstance(each, keras.Variable):
                raise BadTypeError(
                    "An ExponentialMovingAverage does not support non-Variable tensors outside of a `model_fn`. "
                    f"Received: {shown(each)}. Keep the tensor in a tf.Variable, and average that."
                )
        for each in averaged:
            if id(each) not in self._averages:
                average = self._make_now(each) if scope is None else self._make(scope, each)
                self._averages[id(each)] = (each, average)

        def update() -> None:
            decay = on_device(self._decay).astype(jnp.float32)
            if self._num_updates is not None:
                count = on_device(self._num_updates).astype(jnp.float32)
                # Small at first, so that the first values are soon forgotten.
                decay = jnp.minimum(decay, (1 + count) / (10 + count))
            for each in averaged:
                self._update(each, decay)

        if scope is None:
            update()
            return None
        return scope.operation(update, name=self._name, inputs=operations_of(averaged))

    def average(self, var: object) -> keras.Variable | None:
        """Return the average of a variable or tensor, or None."""
        return self._averages[id(var)][1] if id(var) in self._averages else None

    def average_name(self, var: object) -> str:
        """Return the name of a variable's average, which there need not be, to look it up in a checkpoint.

        Args:
            var: The variable.
        """
        average = self.average(var)
        return f"{_path(current_or_none(), var)}/{self._name}" if average is None else average.path

    def variables_to_restore(
        self, moving_avg_variables: Iterable[keras.Variable] | None = None
    ) -> dict[str, keras.Variable]:
        """Return what to restore so that variables get their averages: variables by the names in a checkpoint.

        Args:
            moving_avg_variables: The variables that get averages; by default those that are trained and those that
                :meth:`apply` was given. All others get what they were.
        """
        averaged = (
            [*trainable_variables(), *moving_average_variables()]
            if moving_avg_variables is None
            else list(moving_avg_variables)
        )
        # What has no average is restored by its own name, below.
        found = {self.average_name(variable): variable for variable in averaged}
        paths = {variable.path for variable in averaged}
        for variable in global_variables():
            if variable.path not in paths:
                found.setdefault(variable.path, variable)
        return found

    def _enter_scope(self) -> Scope | None:
        scope = current_or_none()
        # Averages belong to a trace: another one makes, or finds, its own.
        if scope is not self._scope:
            self._scope, self._averages, self._debiasing = scope, {}, {}
        return scope

    def _make(self, scope: Scope, averaged: Any) -> keras.Variable:
        if isinstance(averaged, keras.Variable):
            scope.collections.add(GraphKeys.MOVING_AVERAGE_VARIABLES, averaged)
            # An average begins where its variable does, also where that follows from constants of the program.
            first = scope.values.value_now(_first_value(averaged))
            path = scope.variable_scope.full_name(f"{averaged.path}/{self._name}")
            return make_slot(scope, averaged, path, _make_initializer(first))
        path = scope.variable_scope.full_name(f"{_path(scope, averaged)}/{self._name}")
        average = scope.make_variable(path, averaged.shape, averaged.dtype)
        if self._zero_debias:
            self._debiasing[id(averaged)] = (
                # Of TensorFlow's `assign_moving_average`: the average as it is without the correction, and the number
                # of updates.
                scope.make_variable(f"{path}/biased", averaged.shape, averaged.dtype),
                scope.make_variable(f"{path}/local_step", (), averaged.dtype),
            )
        return average

    def _make_now(self, averaged: keras.Variable) -> keras.Variable:
        add_to_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, averaged)
        with outside_scopes():
            # The value that it has now, also while a function is traced.
            [first] = concrete_values([averaged])
        return make_now(averaged, np.asarray(first), self._name)

    def _update(self, averaged: Any, decay: Any) -> None:
        average = self._averages[id(averaged)][1]
        # A tensor is each replica's own, a variable the same on all.
        value = averaged.value if isinstance(averaged, keras.Variable) else _over_replicas(averaged)
        part = (1 - decay).astype(average.dtype)
        with equal_on_all_replicas():
            if id(averaged) not in self._debiasing:
                # As TensorFlow computes it, and not `average * decay + value * part`, which rounds otherwise.
                keras.Variable.assign(average, average.value - (average.value - value) * part)
                return
            biased, steps = self._debiasing[id(averaged)]
            moved, step = biased.value - (biased.value - value) * part, steps.value + 1
            keras.Variable.assign(biased, moved)
            keras.Variable.assign(steps, step)
            # Divided by the share of the average that is not the zero of its beginning.
            keras.Variable.assign(average, moved / (1 - (1 - part) ** step))


def _over_replicas(tensor: TensorLike) -> Any:
    replicas = syncing_replicas()
    return tensor if replicas is None else replicas.all_reduce(ReduceOp.MEAN, tensor)


def _first_value(variable: keras.Variable) -> Any:
    # One of Keras has its first value as soon as it is there.
    return variable.initialized_value() if isinstance(variable, ModelVariable) else variable.value


def _make_initializer(value: TensorLike) -> Callable[..., Any]:
    # A copy: what a program writes is donated to it, and one buffer can't be given twice.
    return lambda shape, dtype: jnp.array(value, dtype, copy=True)


def _path(scope: Scope | None, averaged: object) -> str:
    """Return a variable's name, or a tensor's: the one that it was given, or else a new one."""
    if isinstance(averaged, keras.Variable):
        return averaged.path
    if scope is None:
        # Outside of a model_fn no tensor has a name.
        return readable().names.unique("tensor")
    names = [name for name, tensor in scope.names.tensors().items() if tensor is averaged]
    return names[0] if names else scope.names.unique("tensor")


def _check_float(averaged: object) -> None:
    dtype = getattr(averaged, "dtype", None)
    if dtype is None or not jnp.issubdtype(dtype, jnp.floating):
        raise BadTypeError(
            "The variables must be half, float, or double: averages of whole numbers are none. Received: "
            f"{shown(averaged)} of dtype {dtype}."
        )
