"""Variables as TensorFlow 1 has them: assignments are operations while a `model_fn` is traced (v1 layer)."""

import dataclasses
import sys
from collections.abc import Callable, Sequence
from typing import Any

import jax
import keras
import numpy as np

from stratax import errors
from stratax.base.callers import is_library
from stratax.base.recording import composite
from stratax.base.shown import shown
from stratax.base.typing import TensorLike
from stratax.core import Variable, regions, state
from stratax.data.elements import DType
from stratax.tensorflow.checkpoints.values import give
from stratax.tensorflow.v1._current import current, current_or_none
from stratax.tensorflow.v1._graph import get_default_graph
from stratax.tensorflow.v1._operations import assignment


@dataclasses.dataclass(frozen=True, slots=True)
class VariableOperation:
    """What a variable's `op` is: the operation of TensorFlow's graph, of which programs read the name.

    Attributes:
        name: The variable's full name, such as ``"dense/kernel"``.
        type: What kind of operation it is in TensorFlow.
    """

    name: str
    type: str = "VarHandleOp"


class ModelVariable(Variable):
    """A variable of a model: what `tf.Variable` and `tf.get_variable` give in a `model_fn`.

    Its assignments return operations there, which take effect when they are run. Elsewhere it is a
    :class:`stratax.Variable`. As of all variables of a model, its `name` is TensorFlow's, such as
    ``"dense/kernel:0"``, and `op.name` the full name without the number.

    Args:
        initial_value: An array, a number, a nested list, a tensor that depends on neither features nor labels, or a
            function without arguments that gives one.
        trainable: Whether optimizers see it.
        name: Its name.
        dtype: Its dtype; by default that of the initial value.
        aggregation: How replicas' different values become one.
        synchronization: When they do: `"on_read"`, or else where the variable is assigned.
        collections: More collections that it is added to, in a `model_fn`.
        constraint: A function of the value, applied after each update of an optimizer.
        **others: TensorFlow's other arguments, which have no meaning here.

    Raises:
        BadArgumentError: If the initial value depends on features or labels.
    """

    def __init__(
        self,
        initial_value: object,
        trainable: bool | None = True,
        *,
        name: str | None = None,
        dtype: object = None,
        aggregation: object = "none",
        synchronization: object = None,
        collections: Sequence[str] | None = None,
        constraint: Callable[..., Any] | None = None,
        **others: object,
    ) -> None:
        del others
        if current_or_none() is not None:
            # Also of one that was found: collections belong to the trace.
            for key in collections or ():
                if key not in ("variables", "trainable_variables"):
                    current().collections.add(key, self)
        # `Scope.give` has found a variable of this name; Python calls `__init__` of it all the same.
        if state.is_made(self):
            return
        if callable(initial_value):
            # Outside of the trace: a later one of the same function does not call it.
            with regions.outside_scopes():
                initial_value = initial_value()
        value = initial_value
        scope = current_or_none()
        if scope is not None and isinstance(value, jax.core.Tracer):
            try:
                value = scope.values.value_now(value)
            except LookupError:
                raise errors.BadArgumentError(
                    "A variable's initial value can't depend on features or labels: it is computed once, when the "
                    "model is built. Expected: a constant, or a function that makes one. Received: "
                    f"initial_value={value}, name={shown(name)}."
                ) from None
        super().__init__(
            value,
            trainable is not False,
            name=_last(name),
            dtype=dtype,
            aggregation=aggregation,
            synchronization=synchronization or "auto",
        )
        self.constraint = constraint

    @classmethod
    def of_initializer(
        cls,
        initializer: Callable[..., Any] | str,
        shape: Sequence[int],
        dtype: object,
        *,
        trainable: bool,
        aggregation: str,
        synchronization: str = "auto",
        name: str,
    ) -> "ModelVariable":
        """Make a variable whose first value an initializer gives, once it is needed.

        Args:
            initializer: A function of a shape and a dtype, or the name of one of Keras'.
            shape: The shape.
            dtype: The dtype.
            trainable: Whether optimizers see it.
            aggregation: How replicas' different values become one.
            synchronization: When they do.
            name: The last part of its name.
        """
        return InitializedVariable(
            initializer=initializer,
            shape=tuple(shape),
            dtype=keras.backend.standardize_dtype(dtype),
            trainable=trainable,
            aggregation=aggregation,
            synchronization=synchronization,
            name=name,
        )

    @property
    def dtype(self) -> Any:
        """The dtype: TensorFlow's, with its attributes; to Keras and JAX it is a name."""
        found = keras.Variable.dtype.fget(self)
        return found if is_library(sys._getframe(1).f_code.co_filename) else DType(found)

    def __eq__(self, other: object) -> Any:
        # As in TensorFlow's graphs: programs look variables up in lists, sets and dicts.
        return super().__eq__(other) if current_or_none() is None else self is other

    def __ne__(self, other: object) -> Any:
        return super().__ne__(other) if current_or_none() is None else self is not other

    def __bool__(self) -> bool:
        # Likewise: `average or variable`.
        return bool(self.numpy()) if current_or_none() is None else True

    # A class with an `__eq__` of its own has none.
    __hash__ = object.__hash__

    @property
    def graph(self) -> Any:
        """The graph of the `model_fn`."""
        return get_default_graph()

    @property
    def op(self) -> VariableOperation:
        """The operation, whose `name` is the variable's full name."""
        return VariableOperation(self.path)

    @composite
    def assign(
        self, value: object, use_locking: object = None, name: str | None = None, read_value: bool = True
    ) -> Any:
        """Give it a value; in a `model_fn`, when the operation is run."""
        return self._assign_or_order(value, lambda: value, name or "Assign")

    @composite
    def assign_add(
        self, delta: object, use_locking: object = None, name: str | None = None, read_value: bool = True
    ) -> Any:
        """Add to it; in a `model_fn`, when the operation is run."""
        return self._assign_or_order(
            delta, lambda: regions.find_held(self) + keras.ops.cast(delta, self.dtype), name or "AssignAdd"
        )

    @composite
    def assign_sub(
        self, delta: object, use_locking: object = None, name: str | None = None, read_value: bool = True
    ) -> Any:
        """Subtract from it; in a `model_fn`, when the operation is run."""
        return self._assign_or_order(
            delta, lambda: regions.find_held(self) - keras.ops.cast(delta, self.dtype), name or "AssignSub"
        )

    @composite
    def _update(self, how: str, place: object, values: TensorLike) -> Any:
        # Computed of what the variable has when the operation runs, as others may have updated it.
        return self._assign_or_order(values, lambda: self._with_rows(how, place, values), "Scatter")

    def _assign_or_order(self, given: object, compute: Callable[[], Any], name: str) -> Any:
        scope = current_or_none()
        if scope is None or scope.is_running:
            return super().assign(compute())
        # Converted when it runs: the operation may be written before the value of another variable changes.
        return assignment(scope, self, given, compute, name)

    def load(self, value: object, session: object = None) -> None:
        """Give it a value now, as in a function that a `Scaffold` calls before the first step.

        Args:
            value: An array of its shape.
            session: Ignored.
        """
        give(self, np.asarray(value, dtype=self._dtype))

    def initialized_value(self) -> Any:
        """Return its first value; of a `model_fn`'s variable its value, which it has as soon as it is there."""
        return self.first_tensor()

    def first_tensor(self) -> Any:
        """Return what `initialized_value` gives."""
        return self.value


class InitializedVariable(ModelVariable):
    """A variable whose first value an initializer gives. A class of its own, as `__init__` takes other arguments."""

    def __init__(self, **arguments: object) -> None:
        if state.is_made(self):
            return
        keras.Variable.__init__(self, autocast=False, **arguments)


def is_local(collections: Any) -> bool:
    """Return whether a variable that was made with collections is in that of local variables, and in no checkpoint."""
    return "local_variables" in (collections or ()) and "variables" not in collections


def _last(name: str | None) -> str | None:
    """Return the last part of a name: Keras takes no slashes, the scope has the whole."""
    return None if name is None else name.rpartition("/")[2]
