"""Operations of TensorFlow 1: updates that take effect when they are run, not when they are written (v1 layer)."""

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import keras

from stratax import errors
from stratax.base.shown import shown
from stratax.base.typing import Array, TensorLike
from stratax.tensorflow.v1._current import current, current_or_none

if TYPE_CHECKING:
    from stratax.tensorflow.v1._scope import ModelScope


class Operation:
    """An update of variables that waits until something that is run depends on it; what `tf.Operation` is here.

    Args:
        update: Makes the update, in the program that is traced; None for an operation that only stands for others.
        name: Its name.
        control_inputs: The operations that run before it.
        order: Where it stands in the program: operations run in the order in which they were written.
        value: What a variable has after an assignment, where that is the operation's value.
        is_done: Whether it has been run where it was written, in a branch or a loop.

    Attributes:
        name: Its name.
        control_inputs: The operations that run before it.
    """

    # NumPy's arrays leave arithmetic with it to the operators here.
    __array_priority__ = 100

    def __init__(
        self,
        update: Callable[[], object] | None,
        name: str,
        control_inputs: Iterable["Operation"],
        order: int,
        value: Callable[[], Any] | None = None,
        *,
        is_done: bool = False,
    ) -> None:
        self._is_done = is_done
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

    @property
    def has_value(self) -> bool:
        """Whether it is worth something as a tensor, as an assignment is."""
        return self._value is not None

    def value(self) -> Any:
        """Return what it is worth, once it was made."""
        return None if self._value is None else jnp.asarray(self._value())

    def make(self) -> None:
        """Call the update, if there is one."""
        if self._update is not None:
            self._update()

    @property
    def shape(self) -> Any:
        """The shape of what it is worth as a tensor."""
        return jnp.shape(self.__jax_array__())

    def __jax_array__(self) -> Any:
        if self._is_done:
            # A branch has to give a tensor.
            return jnp.zeros((), bool) if self._value is None else jnp.asarray(self._value())
        if self._value is None:
            raise errors.BadTypeError(
                f"An operation without a value was used as a number. Expected: a tensor. Received: {shown(self)}. "
                "Read the variable under `tf.control_dependencies([operation])`."
            )
        scope = current()
        # A tensor of its own: what is assigned may be one that does not depend on it.
        value = jnp.array(self._value(), copy=True)
        scope.values.note_behind(value, [self])
        # Whoever uses the value depends on the assignment; in other functions' traces nobody can tell later.
        scope.always(self)
        return value

    def __add__(self, other: Array) -> Any:
        return jnp.asarray(self) + other

    def __radd__(self, other: Array) -> Any:
        return other + jnp.asarray(self)

    def __sub__(self, other: Array) -> Any:
        return jnp.asarray(self) - other

    def __rsub__(self, other: Array) -> Any:
        return other - jnp.asarray(self)

    def __mul__(self, other: Array) -> Any:
        return jnp.asarray(self) * other

    def __rmul__(self, other: Array) -> Any:
        return other * jnp.asarray(self)

    def __truediv__(self, other: Array) -> Any:
        return jnp.asarray(self) / other

    def __rtruediv__(self, other: Array) -> Any:
        return other / jnp.asarray(self)

    def __floordiv__(self, other: Array) -> Any:
        return jnp.asarray(self) // other

    def __rfloordiv__(self, other: Array) -> Any:
        return other // jnp.asarray(self)

    def __mod__(self, other: Array) -> Any:
        return jnp.asarray(self) % other

    def __rmod__(self, other: Array) -> Any:
        return other % jnp.asarray(self)

    def __pow__(self, other: Array) -> Any:
        return jnp.asarray(self) ** other

    def __rpow__(self, other: Array) -> Any:
        return other ** jnp.asarray(self)

    def __matmul__(self, other: Array) -> Any:
        return jnp.asarray(self) @ other

    def __rmatmul__(self, other: Array) -> Any:
        return other @ jnp.asarray(self)

    def __lt__(self, other: Array) -> Any:
        return jnp.asarray(self) < other

    def __le__(self, other: Array) -> Any:
        return jnp.asarray(self) <= other

    def __gt__(self, other: Array) -> Any:
        return jnp.asarray(self) > other

    def __ge__(self, other: Array) -> Any:
        return jnp.asarray(self) >= other

    def __neg__(self) -> Any:
        return -jnp.asarray(self)

    def __abs__(self) -> Any:
        return abs(jnp.asarray(self))

    def __getitem__(self, index: TensorLike) -> Any:
        return jnp.asarray(self)[index]

    def __iter__(self) -> Iterator[Any]:
        # Python would ask for one index after the other, without an end.
        return iter(jnp.asarray(self))

    def __repr__(self) -> str:
        return f"<operation {self.name!r}>"


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
    return [] if scope is None else scope.values.operations_behind(values)


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


def assign_add(ref: Any, value: object, use_locking: object = None, name: str | None = None) -> Any:
    """Add a tensor to a variable, as `tf.assign_add`; in a `model_fn`, when the operation is run."""
    return _update(
        ref, value, lambda: keras.ops.add(ref.value, keras.ops.cast(value, ref.dtype)), name or "AssignAdd"
    )


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
    scope: "ModelScope", variable: Any, given: object, compute: Callable[[], Any], name: str
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
