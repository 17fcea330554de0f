"""Operations of TensorFlow 1: updates that take effect when they are run, not when they are written (v1 layer)."""

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import keras

from stratax import errors
from stratax._shown import shown
from stratax.v1._current import current, current_or_none


class Operation:
    """An update of variables that waits until something that is run depends on it; what `tf.Operation` is here.

    Args:
        update: Makes the update, in the program that is traced; None for an operation that only stands for others.
        name: Its name.
        control_inputs: The operations that run before it.
        order: Where it stands in the program: operations run in the order in which they were written.
        value: What a variable has after an assignment, where that is the operation's value.

    Attributes:
        name: Its name.
        control_inputs: The operations that run before it.
    """

    def __init__(
        self,
        update: Callable[[], object] | None,
        name: str,
        control_inputs: Iterable["Operation"],
        order: int,
        value: Callable[[], Any] | None = None,
    ) -> None:
        self.name = name
        self.control_inputs = tuple(control_inputs)
        self.order = order
        self._update = update
        self._value = value

    @property
    def op(self) -> "Operation":
        """The operation itself, as a tensor's `op` in TensorFlow."""
        return self

    @property
    def does_nothing(self) -> bool:
        """Whether neither it nor what runs before it updates anything."""
        return self._update is None and all(each.does_nothing for each in self.control_inputs)

    def make(self) -> None:
        """Call the update, if there is one."""
        if self._update is not None:
            self._update()

    def __jax_array__(self) -> Any:
        if self._value is None:
            raise errors.BadTypeError(
                f"An operation without a value was used as a number. Expected: a tensor. Received: {shown(self)}. "
                "Read the variable under `tf.control_dependencies([operation])`."
            )
        # Whoever uses the value depends on the assignment, and nobody can tell later whether it was used.
        current().always(self)
        return self._value()

    def __repr__(self) -> str:
        return f"<operation {self.name!r}>"


def group(*inputs: object, name: str | None = None) -> Operation:
    """Return an operation that runs others, as `tf.group`.

    Args:
        *inputs: Operations, tensors, variables, or lists of them.
        name: Its name.

    Raises:
        ModelScopeError: If it is called outside of a `model_fn`.
    """
    scope = current()
    return scope.operation(None, name=name or "group_deps", inputs=operations_of(inputs))


def no_op(name: str | None = None) -> Operation:
    """Return an operation that does nothing, as `tf.no_op`."""
    return current().operation(None, name=name or "NoOp")


@contextlib.contextmanager
def control_dependencies(control_inputs: Iterable[object] | None) -> Iterator[None]:
    """Have operations and tensors of a block depend on others, as `tf.control_dependencies`.

    Inside the block, variables have the values that the operations give them. The operations themselves take effect if
    something of the block is run. Eagerly and in `stratax.function`, where everything happens in program order, it does
    nothing.

    Args:
        control_inputs: Operations and tensors; None for a block without any.
    """
    scope = current_or_none()
    if scope is None:
        yield
        return
    with scope.depending_on(None if control_inputs is None else operations_of(control_inputs)):
        yield


def operations_of(values: object) -> list[Operation]:
    """Return the operations in a nested structure of operations, tensors and variables."""
    if values is None or isinstance(values, keras.Variable):
        return []
    if isinstance(values, Operation):
        return [values]
    if isinstance(values, dict):
        values = list(values.values())
    if isinstance(values, list | tuple | set | frozenset):
        return [operation for value in values for operation in operations_of(value)]
    scope = current_or_none()
    return [] if scope is None else scope.operations_behind(values)


def assign(
    ref: Any,
    value: object,
    validate_shape: object = None,
    use_locking: object = None,
    name: str | None = None,
) -> Any:
    """Give a variable a value, as `tf.assign`; in a `model_fn`, when the operation is run.

    Args:
        ref: The variable.
        value: A tensor of its shape.
        validate_shape: Ignored: shapes are always compared.
        use_locking: Ignored.
        name: The operation's name.
    """
    return _updated(ref, lambda: value, name or "Assign")


def assign_add(ref: Any, value: object, use_locking: object = None, name: str | None = None) -> Any:
    """Add a tensor to a variable, as `tf.assign_add`; in a `model_fn`, when the operation is run."""
    return _updated(
        ref, lambda: keras.ops.add(ref.value, keras.ops.cast(value, ref.dtype)), name or "AssignAdd"
    )


def assign_sub(ref: Any, value: object, use_locking: object = None, name: str | None = None) -> Any:
    """Subtract a tensor from a variable, as `tf.assign_sub`; in a `model_fn`, when the operation is run."""
    return _updated(
        ref, lambda: keras.ops.subtract(ref.value, keras.ops.cast(value, ref.dtype)), name or "AssignSub"
    )


def _updated(variable: Any, compute: Callable[[], Any], name: str) -> Any:
    if not isinstance(variable, keras.Variable):
        raise errors.BadTypeError(f"{name} needs a variable. Received: ref={shown(variable)}.")
    scope = current_or_none()
    if scope is None or scope.is_running:
        # As Keras assigns: the variable's own `assign` waits in a scope.
        keras.Variable.assign(variable, compute())
        return variable
    return scope.operation(lambda: keras.Variable.assign(variable, compute()), name=name, value=compute)
