"""Check the arguments that several operations have (data layer)."""

import contextlib
import inspect
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from stratax.base.shown import shown
from stratax.base.tracing import TRACING
from stratax.core import known, regions
from stratax.data.elements import AUTOTUNE
from stratax.data.plan._cores import num_cores
from stratax.data.plan._node import Node
from stratax.data.plan._order import Order
from stratax.errors import BadArgumentError, BadTypeError, DataError

_MAX_THREADS = 16


def as_count(name: str, value: object, minimum: int | None) -> int:
    """Return an integer argument, at least `minimum`; of a variable or an array, the number that it holds now."""
    try:
        # An array of one integer without axes counts as that integer, of whatever integer type.
        number = operator.index(_read_held(value))
    except (TypeError, AttributeError) as e:
        if TRACING.get():
            raise regions.PythonOnlyError(
                f"{name} of a dataset in a compiled function has to be known while it is traced. Expected: a Python "
                f"integer. Received: {name}={shown(value)}. Pass the dataset, or the number as an int, to the function."
            ) from e
        raise BadTypeError(
            f"{name} has to be an integer. Received: {name}={shown(value)} of type {type(value).__name__}. "
            f"Convert it with int()."
        ) from e
    # `bool` is an `int` for Python, but `batch(True)` is a mistake.
    if isinstance(value, bool) or (minimum is not None and number < minimum):
        limit = "" if minimum is None else f" of at least {minimum}"
        raise BadArgumentError(
            f"{name} has to be an integer{limit}. Received: {name}={shown(value)}. Pass a number{limit}."
        )
    return number


def _read_held(value: object) -> Any:
    """Return the number that an array without axes, or a variable, holds; everything else as it is."""
    if isinstance(value, int) or getattr(value, "shape", None) != ():
        return value
    if TRACING.get():
        # What follows from constants alone has a value while a function is traced.
        with contextlib.suppress(LookupError):
            return np.asarray(known.constant_of(value)).item()
    return np.asarray(value).item()


def check_callable(name: str, function: Callable[..., Any], node: Node | None = None) -> None:
    """Raise unless `function` can be called, with an element of `node` where its structure is known."""
    if not callable(function):
        raise BadTypeError(
            f"{name} has to be callable. Received: {name}={shown(function)} of type {type(function).__name__}. "
            "Pass a function of one element."
        )
    if node is None or not node.has_known_spec:
        return
    try:
        signature = inspect.signature(function)
    # Functions written in C may have no signature; they are called as they are.
    except (TypeError, ValueError):
        return
    spec = node.spec
    # As an element is passed: a tuple as several arguments, a named tuple as one.
    arguments = spec if type(spec) is tuple else (spec,)
    try:
        signature.bind(*arguments)
    except TypeError as e:
        raise DataError(
            f"{name} can't be called with an element: {e}. Expected: a function of {len(arguments)} argument(s), the "
            f"components of element_spec={shown(spec)}. Received: {name}={shown(function)} with signature {signature}. "
            "A tuple is unpacked into arguments, a dict is one argument."
        ) from e


def threads_of(num_parallel_calls: object) -> int:
    """Return the number of threads that `num_parallel_calls` asks for; 1 for none."""
    if num_parallel_calls is None:
        return 1
    number = as_count("num_parallel_calls", num_parallel_calls, AUTOTUNE)
    if number == 0:
        raise BadArgumentError(
            "num_parallel_calls has to be positive or AUTOTUNE. Received: num_parallel_calls=0. Leave it out to call "
            "the function in one thread."
        )
    return min(num_cores(), _MAX_THREADS) if number == AUTOTUNE else number


def make_order(seed: object, *, reshuffle: bool) -> Order:
    """Make the key of a random order."""
    return Order(None if seed is None else as_count("seed", seed, None), reshuffle=reshuffle)
