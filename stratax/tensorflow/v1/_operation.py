"""What `tf.Operation` is here: an update that takes effect when it is run, not when it is written (v1 layer)."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import jax.numpy as jnp
import keras

from stratax import errors
from stratax.base.shown import shown
from stratax.base.typing import Array, TensorLike
from stratax.tensorflow.v1._trace import current_trace, current_trace_or_none


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
        trace = current_trace()
        # A tensor of its own: what is assigned may be one that does not depend on it.
        value = jnp.array(self._value(), copy=True)
        trace.values.note_behind(value, [self])
        # Whoever uses the value depends on the assignment; in other functions' traces nobody can tell later.
        trace.always(self)
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
    trace = current_trace_or_none()
    # A tensor depends on what it was computed behind.
    return [] if trace is None else trace.values.operations_behind(values)
