"""Who decides what `keras.Variable(...)` gives: a scope may give a variable that there is already (core layer).

A `model_fn` is traced several times and means the same variables each time, whoever creates them (`get_variable`, a
Keras layer, a metric). Keras has no hook for it, so the class's `__new__` and `__init__` ask the innermost creator.
Without one, a variable that a compiled function makes of a value is made at once, as those of initializers are later.
"""

import abc
import functools
from collections.abc import Callable
from typing import Any

import jax
import keras

from stratax.base.surroundings import Slot, Surroundings
from stratax.core import regions
from stratax.seams import keras as seam

# The attribute of a variable that a creator has given again: its `__init__` has nothing to do then.
_IS_MADE = "_stratax_is_made"


class Creator(abc.ABC):
    """Gives the variables that are created while it is entered."""

    @abc.abstractmethod
    def give(self, cls: type, kwargs: dict[str, Any]) -> keras.Variable:
        """Return the variable that is meant, or a new object of the class, without its `__init__`.

        Args:
            cls: The class that was called.
            kwargs: The keyword arguments of the call: `name`, `shape`, `dtype` and the like.
        """

    @abc.abstractmethod
    def note_made(self, variable: keras.Variable) -> None:
        """Learn of a variable that was made, right after its `__init__`."""


_CREATOR: Slot[Creator | None] = Slot("creator", None)


def creating_by(creator: Creator | None) -> Surroundings:
    """Have a creator give the variables that are created in a block; None for Keras' way."""
    install()
    return _CREATOR.holding(creator)


def has_creator() -> bool:
    """Return whether a creator gives the variables that are created now: whether a `model_fn` is traced."""
    return _CREATOR.get() is not None


def is_made(variable: keras.Variable) -> bool:
    """Return whether a variable exists already, so that `__init__` must leave it alone."""
    return _IS_MADE in variable.__dict__


def last_name(name: str) -> str:
    """Return the last part of a variable's name, without TensorFlow's `:0`: `kernel` of `dense/kernel:0`."""
    return name.rpartition("/")[2].removesuffix(":0")


def install() -> None:
    """Have Keras' variables ask for a creator; calling it again does nothing."""
    seam.install("stratax.core.creation", {"keras:Variable.__new__": _new, "keras:Variable.__init__": _init})


def _new(_: Callable[..., Any]) -> Any:
    def __new__(cls: type, *args: object, **kwargs: object) -> Any:
        creator = _CREATOR.get()
        return object.__new__(cls) if creator is None else creator.give(cls, kwargs)

    return staticmethod(__new__)


def _init(original: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(original)
    def __init__(self: object, initializer: Any, *args: object, **kwargs: Any) -> None:
        if is_made(self):
            return
        creator = _CREATOR.get()
        if creator is not None and not args and isinstance(initializer, bool | int | float):
            # Optimizers give numbers, which Keras takes outside of a trace only; dtypes are those it gives them.
            kwargs = {"shape": (), "dtype": _dtype_of(initializer)} | kwargs
            initializer = _constant(initializer)
        if creator is not None and isinstance(kwargs.get("name"), str):
            kwargs = kwargs | {"name": last_name(kwargs["name"])}
        if (
            creator is None
            and not callable(initializer)
            and not isinstance(initializer, str | jax.core.Tracer)
        ):
            _of_value(functools.partial(original, self, initializer, *args, **kwargs), self)
        else:
            original(self, initializer, *args, **kwargs)
        if creator is not None:
            creator.note_made(self)
            self.__dict__[_IS_MADE] = True

    return __init__


def _of_value(make: Callable[[], None], variable: keras.Variable) -> None:
    """Make a variable of a value that is known, for real: Keras refuses it while a function is traced."""
    if regions.current_region() is None:
        make()
        return
    with regions.outside_scopes():
        make()
    regions.note_created(variable)


def _constant(number: float) -> Callable[..., Any]:
    return lambda shape, dtype: keras.ops.full(shape, number, dtype)


def _dtype_of(number: float) -> str:
    if isinstance(number, bool):
        return "bool"
    return "int32" if isinstance(number, int) else keras.config.floatx()
