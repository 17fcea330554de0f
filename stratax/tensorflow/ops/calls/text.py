"""Text among the operands of `tf`'s functions (ops layer).

Text never goes to a device. It is what the functions of a pipeline see: `bytes`, or NumPy arrays of `bytes` objects.
NumPy's own strings lose the zero bytes at their ends, which images may end in.
"""

import collections
import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from stratax.base.shown import shown
from stratax.base.typing import TensorLike
from stratax.data.elements import as_array
from stratax.errors import BadTypeError
from stratax.tensorflow.ops.calls._host import TEXT, is_text_array, kinds_of
from stratax.tensorflow.ops.calls.labels import TextSymbol

_Function = TypeVar("_Function", bound=Callable[..., Any])


def holds_text(value: object) -> bool:
    """Return whether a value is text: a string, `bytes`, an array or symbol of them, or a list with one of these."""
    if isinstance(value, np.ndarray):
        return is_text_array(value)
    if isinstance(value, list | tuple):
        return bool(kinds_of(value) & TEXT)
    return isinstance(value, str | bytes | TextSymbol)


def as_text(name: str, value: object) -> np.ndarray:
    """Return text as an array of `bytes` objects.

    Args:
        name: What an error calls the value.
        value: Anything that :func:`holds_text`.

    Raises:
        BadTypeError: It is something else, text beside numbers, or nested lists that are not equally long.
    """
    try:
        array = as_array(value) if holds_text(value) else None
    except ValueError as e:
        raise _not_text(name, value) from e
    if array is None:
        raise _not_text(name, value)
    return np.array(array, dtype=object)


def _not_text(name: str, value: object) -> BadTypeError:
    return BadTypeError(
        "Text goes together with text only. Expected: a string, or strings in lists of equal lengths. "
        f"Received: {name}={shown(value)}."
    )


def or_text(*parameters: str) -> Callable[[_Function], _Function]:
    """Let a function that rearranges NumPy arrays take text, too.

    Where one of the parameters holds text, all of them have to, and the function gets them as arrays of objects. What
    it returns for one string is `bytes`.

    Args:
        parameters: The names of the function's operands that may be text; a list of operands among them if it is
            called `values`.
    """

    def decorate(function: _Function) -> _Function:
        signature = inspect.signature(function)
        # Found once, and not at each call.
        places = [(list(signature.parameters).index(name), name) for name in parameters]

        @functools.wraps(function)
        def with_text(*args: object, **kwargs: object) -> Any:
            operands = []
            for place, name in places:
                operands.append(args[place] if place < len(args) else kwargs.get(name))
            # The usual case must cost little: binding arguments is slow.
            if not kinds_of(operands) & TEXT:
                return function(*args, **kwargs)
            bound = signature.bind(*args, **kwargs)
            symbols = _symbols(operands)
            if symbols:
                return _of_symbols(function, bound, parameters, symbols)
            for name, value in bound.arguments.items():
                bound.arguments[name] = _operand(name, value, name in parameters)
            return _unwrap(function(*bound.args, **bound.kwargs))

        return with_text  # type: ignore[return-value]

    return decorate


def _symbols(operands: Sequence[Any]) -> list[TextSymbol]:
    """Return those operands, and parts of lists of them, that have no values yet."""
    flat = [
        part for operand in operands for part in (operand if isinstance(operand, list | tuple) else [operand])
    ]
    return [part for part in flat if isinstance(part, TextSymbol)]


def _of_symbols(
    function: Callable[..., Any], bound: Any, parameters: Sequence[str], symbols: list[TextSymbol]
) -> Any:
    """Return what a function makes of text that is not known yet: somebody will call it with arrays."""
    arguments = dict(bound.arguments)

    def compute(*arrays: np.ndarray) -> Any:
        given = iter(arrays)

        def take_operand(name: str, value: TensorLike) -> Any:
            if isinstance(value, TextSymbol):
                return next(given)
            if isinstance(value, list | tuple) and _symbols([value]):
                return [take_operand(name, part) for part in value]
            return _operand(name, value, name in parameters)

        # Bound anew each time: a plan calls this with other arrays, and none must stay.
        own = inspect.BoundArguments(bound.signature, collections.OrderedDict())
        for name, value in arguments.items():
            own.arguments[name] = take_operand(name, value)
        return function(*own.args, **own.kwargs)

    return symbols[0].apply(function.__name__, compute, list(symbols))


def _operand(name: str, value: Any, is_text: bool) -> Any:
    if is_text:
        return [as_text(name, part) for part in value] if name == "values" else as_text(name, value)
    return _bring_to_host(name, value)


def _bring_to_host(name: str, value: object) -> Any:
    """Return the other operands on the host, where text is."""
    if not hasattr(value, "__jax_array__") and not hasattr(value, "aval"):
        return value
    import jax

    # Text stays on the host, and a traced number has no value there.
    if isinstance(value, jax.core.Tracer):
        raise BadTypeError(
            "Text is never part of a compiled program, so it can't be chosen by values that are known only when the "
            f"program runs. Received: {name}={shown(value)}. Return the numbers, and look the text up outside."
        )
    return np.asarray(value)


def _unwrap(result: object) -> Any:
    if isinstance(result, list):
        return [_unwrap(part) for part in result]
    return result[()] if isinstance(result, np.ndarray) and not result.ndim else result
