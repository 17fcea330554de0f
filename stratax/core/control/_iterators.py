"""Python's iterators in compiled functions: what the function made itself, and what comes from outside (core layer).

Python goes through an iterator while a function is traced, once. Of what the function made itself that is right: it is
made again in the next trace. What comes from outside goes on with every element that is taken, and the program would
keep the elements of the first call: generators, files, iterators over data of other libraries.
"""

import builtins
import collections
import inspect
import io
import itertools
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import keras

from stratax import errors
from stratax.base.shown import shown
from stratax.core import regions

_FOREIGN = (
    "torch.utils.data",
    "grain.",
    "datasets.arrow_dataset",
    "datasets.iterable_dataset",
    "tensorflow.python.data",
)
# The built-in functions that take elements of their arguments.
_CONSUMERS = frozenset(
    {
        all,
        any,
        collections.deque,
        dict,
        enumerate,
        filter,
        frozenset,
        iter,
        list,
        map,
        max,
        min,
        next,
        set,
        sorted,
        sum,
        tuple,
        zip,
    }
)


def note(value: object) -> None:
    """Note an iterator that a call in the function that is being traced has given."""
    if isinstance(value, Iterator) and (program := _program_region()) is not None:
        # The iterator itself is held: were it freed, another one could have its id.
        program.iterators[id(value)] = value


def check(value: object) -> None:
    """Refuse to take elements of an iterator that the function that is being traced did not make.

    Raises:
        TracingError: It is one.
    """
    if _is_foreign_data(value):
        raise errors.TracingError(_message(value))
    if not isinstance(value, (Iterator, io.IOBase)) or isinstance(value, (regions.Stream, regions.CallPass)):
        return
    program = _program_region()
    if program is not None and id(value) not in program.iterators and not _is_expression(value):
        raise errors.TracingError(_message(value))


def check_call(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Refuse lists and generators of arrays that a built-in function or a method of iterators would go through."""
    owner = getattr(function, "__self__", None)
    if isinstance(owner, (Iterator, io.IOBase)):
        check(owner)
    if _consumes(function):
        for value in (*args, *kwargs.values()):
            check(value)


def check_surroundings(function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> None:
    """Refuse iterators that a function refers to whose control flow is not converted, so that nobody sees their use.

    Raises:
        TracingError: There is one among its arguments, in its closure or among its globals.
    """
    for value in (*args, *kwargs.values()):
        check(value)
    function = inspect.unwrap(function)
    if not isinstance(function, types.FunctionType):
        return
    # What the code can name: its closure and the globals that it mentions.
    found = [cell.cell_contents for cell in function.__closure__ or () if _is_filled(cell)]
    found += [
        function.__globals__[name] for name in function.__code__.co_names if name in function.__globals__
    ]
    for value in found:
        check(value)


def _is_filled(cell: types.CellType) -> bool:
    try:
        _ = cell.cell_contents
    except ValueError:
        return False
    return True


def _consumes(function: Callable[..., Any]) -> bool:
    # `itertools` is tested by module, since its functions are types and new versions of Python add some.
    module = getattr(function, "__module__", None)
    return module == itertools.__name__ or (module == builtins.__name__ and function in _CONSUMERS)


def _is_foreign_data(value: object) -> bool:
    """Return whether a value is a dataset or loader of another library, which Python would go through while tracing."""
    module = type(value).__module__
    return isinstance(value, keras.utils.PyDataset) or module.startswith(_FOREIGN)


def _is_expression(value: object) -> bool:
    """Return whether a value is a generator expression, which functions write where they use it."""
    return isinstance(value, types.GeneratorType) and value.gi_code.co_name == "<genexpr>"


def _program_region() -> "regions.ProgramRegion | None":
    region = regions.current_region()
    # Iterators are noted for the whole program, whichever loop or condition inside of it made them.
    while region is not None and not isinstance(region, regions.ProgramRegion):
        region = region.parent
    return region


def _message(value: object) -> str:
    return (
        "A compiled function takes elements of an iterator of Python's, or of another library's dataset, that comes "
        "from outside. It would take them once, while it is traced, and every call would see the same ones. Expected: "
        "an iterator or dataset of stratax.data, which every call reads anew. Pass the element as an argument, or make "
        "a dataset: "
        "`iter(stratax.data.as_dataset(...))` or `Dataset.from_generator(...)`. "
        f"Received: {shown(value)}."
    )
