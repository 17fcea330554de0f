"""Functions of TensorFlow 1 that make operations: groups, assignments, control dependencies (v1 layer)."""

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import keras

from stratax import errors
from stratax.base.recording import composite
from stratax.base.shown import shown
from stratax.tensorflow.v1._current import current_or_none
from stratax.tensorflow.v1._operation import Operation, operations_of
from stratax.tensorflow.v1.scopes import Scope


def group(*inputs: object, name: str | None = None) -> Any:
    """Return an operation that runs others, as `tf.group`.

    Args:
        *inputs: Operations, tensors, variables, or lists of them.
        name: Its name.

    Returns:
        The operation; None outside of a `model_fn`, where everything has happened already.
    """
    scope = current_or_none()
    if scope is None:
        return None
    return scope.operation(None, name=name or "group_deps", inputs=operations_of(inputs))


def no_op(name: str | None = None) -> Any:
    """Return an operation that does nothing, as `tf.no_op`; None outside of a `model_fn`, as eagerly in TensorFlow."""
    scope = current_or_none()
    return None if scope is None else scope.operation(None, name=name or "NoOp")


@contextlib.contextmanager
def control_dependencies(control_inputs: Iterable[object] | None) -> Iterator[None]:
    """Have operations and tensors of a block depend on others, as `tf.control_dependencies`.

    Inside the block, variables have the values that the operations give them. The operations themselves take effect if
    something of the block is run, or if what is run was computed of a tensor of the block. Eagerly and in
    `stratax.function`, where everything happens in program order, it does nothing.

    Args:
        control_inputs: Operations and tensors; None for a block without any.
    """
    scope = current_or_none()
    if scope is None:
        yield
        return
    with scope.depending_on(None if control_inputs is None else operations_of(control_inputs)):
        yield


@composite
def assign(
    ref: object,
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
    return _update(ref, value, lambda: value, name or "Assign")


@composite
def assign_add(ref: Any, value: object, use_locking: object = None, name: str | None = None) -> Any:
    """Add a tensor to a variable, as `tf.assign_add`; in a `model_fn`, when the operation is run."""
    return _update(
        ref, value, lambda: keras.ops.add(ref.value, keras.ops.cast(value, ref.dtype)), name or "AssignAdd"
    )


@composite
def assign_sub(ref: Any, value: object, use_locking: object = None, name: str | None = None) -> Any:
    """Subtract a tensor from a variable, as `tf.assign_sub`; in a `model_fn`, when the operation is run."""
    return _update(
        ref,
        value,
        lambda: keras.ops.subtract(ref.value, keras.ops.cast(value, ref.dtype)),
        name or "AssignSub",
    )


def _update(variable: object, given: object, compute: Callable[[], Any], name: str) -> Any:
    if not isinstance(variable, keras.Variable):
        raise errors.BadTypeError(f"{name} needs a variable. Received: ref={shown(variable)}.")
    scope = current_or_none()
    if scope is None or scope.is_running:
        # As Keras assigns: the variable's own `assign` waits in a scope.
        keras.Variable.assign(variable, compute())
        return variable
    return assignment(scope, variable, given, compute, name)


def assignment(
    scope: Scope, variable: Any, given: object, compute: Callable[[], Any], name: str
) -> Operation:
    """Return the operation that assigns to a variable, and is worth what the variable has then.

    Args:
        scope: The scope.
        variable: The variable.
        given: What the value is computed of, beside the variable: it runs behind what that depends on.
        compute: Computes the value when the operation runs.
        name: The operation's name.
    """

    def value() -> Any:
        # Computed again behind the assignment, it would be assigned twice.
        is_made = scope.is_in_effect(operation)
        return keras.ops.cast(variable.value if is_made else compute(), variable.dtype)

    operation = scope.operation(
        lambda: keras.Variable.assign(variable, compute()),
        name=name,
        inputs=operations_of(given),
        value=value,
    )
    return operation
