"""Values of variables that belong to one party each, such as a replica, from one program to the next (core layer)."""

import abc
import math
import weakref
from typing import Any

import jax
import keras
import numpy as np

from stratax.core import regions, storage

# The attribute of a variable that holds its parts.
_PARTS = "_stratax_parts"
# The attribute of variables of which parties keep their own values though they are combined for everybody else.
_KEPT = "_stratax_kept"
# What of a variable is not its parts', too.
_OWN = frozenset({"_value", _PARTS})
# How often a variable has got parts in this process: a program that was traced before may read such a one otherwise. A
# list, which every dispatch looks at without a call.
version = [0]


class Parts(regions.Spread, keras.Variable):
    """A variable's values as the parties hold them, as one array with a leading dimension.

    It is a variable itself, which programs take and give new values. The variable that it is of keeps the one value
    that everybody else sees; wherever that is assigned, the parties' values follow from it.

    Args:
        variable: The variable, which has a value.
        sharding: Where the parties' values are: the leading dimension is divided by a tuple of axes.
    """

    is_kept = True

    # No call of Keras' initializer, which would compute a first value.
    def __init__(self, variable: keras.Variable, sharding: jax.sharding.NamedSharding) -> None:
        self.__dict__.update(
            {k: v for k, v in variable.__dict__.items() if k.startswith("_") and k not in _OWN}
        )
        count = math.prod(sharding.mesh.shape[axis] for axis in sharding.spec[0])
        self._shape = (count, *self.shape_of_one(variable, count))
        self._ndim = len(self._shape)
        self._trainable, self._aggregation, self._synchronization = False, "none", "auto"
        self.variable = variable
        self.sharding = sharding
        self._array: Any = None
        self._value_of: Any = lambda: None

    def shape_of_one(self, variable: keras.Variable, count: int) -> tuple[int, ...]:
        """Return the shape of a party's value."""
        return storage.spec_of(variable).shape

    @abc.abstractmethod
    def divide(self, value: object) -> Any:
        """Return the parties' values of the variable's one value, an array, as an array under `sharding`."""

    @property
    def _value(self) -> Any:
        value = storage.read(self.variable)
        if self._value_of() is not value:
            # For real, also where a program is traced that asks what type it has.
            with regions.outside_scopes():
                self._array = self.divide(value)
            self._value_of = weakref.ref(value)
        return self._array

    @_value.setter
    def _value(self, array: object) -> None:
        self._array = array

    def settle(self) -> None:
        """Note that the parties' values and the variable's belong together now."""
        self._value_of = weakref.ref(storage.read(self.variable))

    def give(self, array: object) -> None:
        """Give the parties values, and the variable that of all."""
        self._array = array
        storage.overwrite(self.variable, np.asarray(self.merge(array)))
        self.settle()

    def follow(self, old: object, new: object) -> None:
        """Note that the variable's value has moved to another array."""
        if self._value_of() is old:
            self._value_of = weakref.ref(new)


def parts_of(variable: keras.Variable) -> "Parts | None":
    """Return the parties' own values of a variable, or None if all have one."""
    return variable.__dict__.get(_PARTS)


def give_parts(parts: Parts) -> None:
    """Have parties keep their own values of a variable from now on."""
    parts.variable.__dict__[_PARTS] = parts
    version[0] += 1


def settle(variables: Any) -> None:
    """Note that the values of parts among variables, which a program has just given, belong to their variables'."""
    for variable in variables:
        if isinstance(variable, Parts):
            variable.settle()


def mark_kept(variable: keras.Variable) -> None:
    """Note that parties keep their own values of a variable from one step to the next, whatever its aggregation."""
    variable.__dict__[_KEPT] = True


def is_marked_kept(variable: keras.Variable) -> bool:
    """Return whether :func:`mark_kept` was called for a variable."""
    return _KEPT in variable.__dict__
