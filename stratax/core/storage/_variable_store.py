"""Where the values of variables are, and the only way to them (core layer).

Keras keeps a variable's value as an array in the variable itself, and so does Stratax by default. A
:class:`VariableStore` keeps values somewhere else, in another process for instance. What compiles and runs programs,
saves and restores reaches every value through the functions here and does not know where it is.
"""

import abc
import contextlib
import functools
import operator
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import keras
import numpy as np

from stratax.core.storage import _called, _placement
from stratax.seams.keras import get_stateless_scope, in_stateless_scope, in_symbolic_scope

# The attribute of a variable that holds its store; a variable that is its own store has none.
_STORE = "_stratax_store"
# The attribute of a variable that holds the values that replicas have of it, each its own (`_parts`).
_PARTS = "_stratax_parts"
# The attribute that says whether the variable's store has a value of it yet.
_HAS_VALUE = "_stratax_has_value"
# Without a frame of Python's: every program reads its variables so.
_array_of = operator.attrgetter("_value")


class VariableStore(abc.ABC):
    """Keeps the values of variables outside of the variables themselves.

    A store is asked for many variables at once, so that one round trip serves a program. Which variable is meant is the
    store's own business: it may keep a table by `id`, or an attribute on the variable, from :meth:`create` on.
    """

    @abc.abstractmethod
    def create(self, variable: keras.Variable, value: object) -> None:
        """Begin to keep a variable.

        Args:
            variable: The variable, whose `shape` and `dtype` are known.
            value: Its first value, a `jax.Array`.
        """

    def initialize(self, variable: keras.Variable, make: Callable[[], Any]) -> None:
        """Begin to keep a variable whose first value has not been computed yet.

        A store of values that this process could not hold computes them elsewhere; this one computes them here.

        Args:
            variable: The variable, whose `shape` and `dtype` are known.
            make: Computes the first value here.
        """
        self.create(variable, make())

    @abc.abstractmethod
    def read(self, variables: Sequence[keras.Variable]) -> list[jax.Array]:
        """Return the values of variables, one version of each.

        The arrays belong to the caller: a program may reuse their memory for its results. A store that keeps an array
        for itself gives a copy.
        """

    def show(self, variable: keras.Variable) -> Any:
        """Return a variable's value to a program that looks at it outside of what is compiled."""
        return self.read([variable])[0]

    @abc.abstractmethod
    def write(self, variables: Sequence[keras.Variable], values: Sequence[Any]) -> None:
        """Give variables new values.

        Args:
            variables: The variables.
            values: Arrays of their shapes and dtypes.
        """

    def one_state(self) -> contextlib.AbstractContextManager[None]:
        """Have this thread read values, inside a block, that belong together, though others change them meanwhile.

        A store whose values only this process changes has nothing to do.
        """
        return contextlib.nullcontext()


class _Stored:
    """Mixes into the class of a variable that a store keeps, so that Keras itself reads and assigns there."""

    # No `__slots__`: Python changes an object's class only to one of the same layout.

    @property
    def _value(self) -> Any:
        state = self.__dict__
        return state[_STORE].read([self])[0] if state[_HAS_VALUE] else None

    @_value.setter
    def _value(self, value: object) -> None:
        store: VariableStore = self.__dict__[_STORE]
        if self.__dict__[_HAS_VALUE]:
            store.write([self], [value])  # type: ignore[list-item]
        # Keras sets None before a deferred variable is built: that is no value.
        elif value is not None:
            store.create(self, value)  # type: ignore[arg-type]
            self.__dict__[_HAS_VALUE] = True

    @property
    def value(self) -> Any:
        return _called.or_function(self._current(), sys._getframe(1))

    def _current(self) -> Any:
        if in_symbolic_scope() and self._only_type_matters():
            # An operation of the trace, and no array.
            return self._maybe_autocast(jnp.zeros(*_type_of(self)))  # type: ignore[attr-defined]
        # Keras' own property reads `_value` twice, which would be two round trips.
        if in_stateless_scope() or not self.__dict__[_HAS_VALUE]:
            return super().value  # type: ignore[misc]
        return self._maybe_autocast(self.__dict__[_STORE].show(self))  # type: ignore[attr-defined]

    def _only_type_matters(self) -> bool:
        """Return whether Keras, which wants to know shapes only, need not be told the value.

        It is told numbers, which Python code may branch on, and what was assigned in the trace.
        """
        scope = get_stateless_scope()
        is_assigned = scope is not None and scope.get_current_value(self) is not None
        return not is_assigned and self.__dict__[_HAS_VALUE] and bool(_type_of(self)[0])

    def _initialize_with_initializer(self, initializer: Callable[..., Any]) -> None:
        variable: Any = self
        variable._initialize_layout()

        def make() -> Any:
            return variable._convert_to_tensor(initializer(variable._shape, dtype=variable._dtype))

        self.__dict__[_STORE].initialize(variable, make)
        self.__dict__[_HAS_VALUE] = True

    def __reduce__(self) -> Any:
        """Make a copy, or what is unpickled, keep its value in itself: a store belongs to this process."""
        state = {key: value for key, value in self.__dict__.items() if key not in (_STORE, _HAS_VALUE)}
        # Behind the made class and `_Stored` comes the class that the variable had.
        return _make, (type(self).__mro__[2], {**state, "_value": self._value})


def _type_of(variable: Any) -> tuple[tuple[int, ...], Any]:
    return tuple(variable._shape), jax.dtypes.canonicalize_dtype(variable._dtype)


@functools.cache
def _make_stored_class(cls: Any) -> Any:
    # The class looks like the variable's own in messages and in `repr`.
    return type(cls.__name__, (_Stored, cls), {"__module__": cls.__module__, "__doc__": cls.__doc__})


def _make(cls: type, state: dict[str, Any]) -> Any:
    variable: Any = object.__new__(cls)
    variable.__dict__.update(state)
    return variable


# Whether any store has ever kept a variable in this process: until then nobody has to look for one.
_in_use = [False]


def keep(variable: keras.Variable, store: VariableStore) -> None:
    """Have a store keep a variable's value from now on.

    Args:
        variable: The variable. Its value, if it has one, moves into the store.
        store: The store.
    """
    if variable.__dict__.get(_STORE) is store:
        return
    # Out of the instance: behind the property of the new class it would only keep the array alive.
    value = variable.__dict__.pop("_value", None)
    variable.__dict__.update({_STORE: store, _HAS_VALUE: False})
    cls: Any = type(variable)
    # Keras sets `_value` in the instance, and only a property of the class comes before that.
    variable.__class__ = _make_stored_class(cls)
    _in_use[0] = True
    if value is not None:
        variable._value = value


def store_of(variable: keras.Variable) -> VariableStore | None:
    """Return the store that keeps a variable's value, or None where the variable itself does."""
    return variable.__dict__.get(_STORE)


def has_value(variable: keras.Variable) -> bool:
    """Return whether a variable has a value: one that is created while tracing gets it later."""
    if _STORE in variable.__dict__:
        return bool(variable.__dict__[_HAS_VALUE])
    return variable._value is not None


def spec_of(variable: keras.Variable) -> jax.ShapeDtypeStruct:
    """Return the shape and dtype of a variable's value, which it has, without reading one that is in a store."""
    if _STORE in variable.__dict__:
        return jax.ShapeDtypeStruct(*_type_of(variable))
    return jax.ShapeDtypeStruct(variable._value.shape, variable._value.dtype)


def read(variable: keras.Variable) -> Any:
    """Return a variable's value, or None if it has none yet."""
    return variable._value


def is_held_by(variable: keras.Variable, value: object) -> bool:
    """Return whether an array is the one that a variable keeps in itself."""
    return _STORE not in variable.__dict__ and variable._value is value


def read_all(variables: Sequence[keras.Variable]) -> list[Any]:
    """Return the values of variables, each store's in one round trip; None for those that have none yet."""
    if not _in_use[0]:
        return list(map(_array_of, variables))
    values: list[Any] = [None] * len(variables)
    for store, positions in _by_store(variables).items():
        if store is None:
            found = [variables[position]._value for position in positions]
        else:
            # A store is not asked for what it does not have yet; these stay None.
            positions = [p for p in positions if variables[p].__dict__[_HAS_VALUE]]
            found = store.read([variables[position] for position in positions])
        for position, value in zip(positions, found, strict=True):
            values[position] = value
    return values


@contextlib.contextmanager
def one_state(variables: Iterable[keras.Variable]) -> Iterator[None]:
    """Have this thread read values of variables, inside a block, that belong together, as a checkpoint does.

    Args:
        variables: The variables.
    """
    with contextlib.ExitStack() as stack:
        for store in {id(found): found for v in variables if (found := store_of(v)) is not None}.values():
            stack.enter_context(store.one_state())
        yield


def write(variable: keras.Variable, value: object) -> None:
    """Give a variable a new value."""
    variable._value = value


def write_all(variables: Sequence[keras.Variable], values: Sequence[Any]) -> None:
    """Give variables new values, each store's in one round trip."""
    if not _in_use[0]:
        for variable, value in zip(variables, values, strict=True):
            variable._value = value
        return
    for store, positions in _by_store(variables).items():
        # One by one where a first value is among them: the setter tells creation from a change.
        if store is None or not all(variables[p].__dict__[_HAS_VALUE] for p in positions):
            for position in positions:
                variables[position]._value = values[position]
        else:
            store.write([variables[p] for p in positions], [values[p] for p in positions])


def note_moved(variable: keras.Variable, value: object) -> None:
    """Note that a variable's value has been copied to the devices of a program, which will want it there again.

    The variable itself keeps the new array. A store's value stays where it is.
    """
    if _STORE not in variable.__dict__:
        old, variable._value = variable._value, value
        parts = variable.__dict__.get(_PARTS)
        if parts is not None:
            parts.follow(old, value)


def overwrite(variable: keras.Variable, value: np.ndarray) -> None:
    """Give a variable a value from the host, on the devices where its present one is.

    Args:
        variable: The variable, which has a value.
        value: An array of its shape and dtype.
    """
    if _STORE in variable.__dict__:
        variable._value = value
        return
    old = variable._value
    variable._value = _placement.place(value, old.sharding) if _is_placed(old) else jax.device_put(value)


def overwrite_all(variables: Sequence[keras.Variable], values: Sequence[np.ndarray]) -> None:
    """Give variables values from the host, each store's in one go; see :func:`overwrite`."""
    stored = [position for position, variable in enumerate(variables) if _STORE in variable.__dict__]
    write_all([variables[position] for position in stored], [values[position] for position in stored])
    for variable, value in zip(variables, values, strict=True):
        if _STORE not in variable.__dict__:
            overwrite(variable, value)


def _is_placed(array: Any) -> bool:
    return not array.is_fully_addressable or len(array.devices()) > 1 or bool(array.committed)


def _by_store(variables: Sequence[keras.Variable]) -> dict[VariableStore | None, list[int]]:
    """Group the positions of variables by the stores that keep them."""
    found: dict[VariableStore | None, list[int]] = {}
    for position, variable in enumerate(variables):
        found.setdefault(variable.__dict__.get(_STORE), []).append(position)
    return found
