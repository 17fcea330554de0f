"""What a function's signature says, as `tensorflow.python.util.function_utils` tells it (tf layer)."""

import functools
import inspect
from collections.abc import Callable
from typing import Any

_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def fn_args(fn: Callable[..., Any]) -> tuple[str, ...]:
    """Return the names of a function's arguments, without those that a `functools.partial` gives."""
    given = fn.keywords if isinstance(fn, functools.partial) else {}
    # A signature leaves out what is given by position, and not what is given by name.
    parameters = inspect.signature(fn).parameters.values()
    return tuple(each.name for each in parameters if each.kind in _NAMED and each.name not in given)


def has_kwargs(fn: Callable[..., Any]) -> bool:
    """Return whether a function takes any keyword."""
    kinds = [parameter.kind for parameter in inspect.signature(fn).parameters.values()]
    return inspect.Parameter.VAR_KEYWORD in kinds


def get_func_name(func: Callable[..., Any]) -> str:
    """Return a function's name, or the class of what is called."""
    while isinstance(func, functools.partial):
        func = func.func
    return getattr(func, "__name__", type(func).__name__)
