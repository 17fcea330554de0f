"""Variables without values, of models that are compiled and not run (core layer)."""

import math
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import jax
import keras

from stratax import errors
from stratax.base.shown import shown
from stratax.base.surroundings import Slot, Surroundings
from stratax.core.storage._variable_store import VariableStore, store_of

# What is smaller takes no memory to speak of, and programs may read it: a learning rate, a seed, a count.
_SMALL = 8192


class NoValue(jax.ShapeDtypeStruct):
    """Stands where a value would: a type, which programs are compiled for.

    Args:
        shape: The value's shape.
        dtype: Its dtype.
        path: The variable's path.
    """

    def __init__(self, shape: Sequence[int], dtype: object, path: str) -> None:
        super().__init__(tuple(shape), dtype)
        self._path = path

    def refuse(self, *arguments: object, **named: object) -> NoReturn:
        """Say that there is no value.

        Raises:
            StrategyError: Always.
        """
        raise errors.StrategyError(
            "A variable was made without a value, to be compiled and not run (stratax.tpu.abstract_variables, stratax "
            "compile --abstract). Expected: a model that is built by its input's shape (keras.Input, "
            "model.build(shape)), and stratax.tpu.compile or stratax compile. Received: a look at the value of "
            f"{shown(self._path)}."
        )

    __array__ = __jax_array__ = refuse


class AbstractStore(VariableStore):
    """Has types in the place of values; what variables are assigned is dropped."""

    def create(self, variable: keras.Variable, value: object) -> None:
        """Drop the first value: the variable's type is all there is to keep."""

    def initialize(self, variable: keras.Variable, make: Callable[[], Any]) -> None:
        """Leave the first value uncomputed, which may not fit this machine."""

    def read(self, variables: Sequence[keras.Variable]) -> list[Any]:
        return [
            NoValue(each.shape, jax.dtypes.canonicalize_dtype(each.dtype), each.path) for each in variables
        ]

    def show(self, variable: keras.Variable) -> Any:
        self.read([variable])[0].refuse()

    def write(self, variables: Sequence[keras.Variable], values: Sequence[Any]) -> None:
        """Drop the values: whoever compiles the program gets types."""


_STORE = AbstractStore()
_IS_ABSTRACT: Slot[bool] = Slot("variables without values", False)


def making_abstract() -> Surroundings:
    """Have large variables that are made in a block have no values."""
    return _IS_ABSTRACT.holding(True)


def making_like(variable: keras.Variable) -> Surroundings:
    """Have variables that are made in a block have no values if another one has none."""
    return _IS_ABSTRACT.holding(_IS_ABSTRACT.get() or store_of(variable) is _STORE)


def find_abstract(variable: keras.Variable) -> VariableStore | None:
    """Return what keeps a new variable that is to have no value; None if it is to have one."""
    return _STORE if _IS_ABSTRACT.get() and math.prod(variable.shape) >= _SMALL else None
