"""Errors of other libraries that reach a function of `tf`, as errors that name the function (a low layer).

JAX, Keras and NumPy raise a `TypeError`, a `ValueError` or an `IndexError` for the same mistake, with a message that
names their own function. TensorFlow raises an `InvalidArgumentError`, or while it builds a graph a `ValueError` or
`TypeError`.
"""

import functools
import inspect
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, cast

from stratax.base import providers, tracebacks
from stratax.base.recording import NOT_RECORDED, RECORDER
from stratax.base.shown import cut, shown
from stratax.errors import OperandError

_Function = TypeVar("_Function", bound=Callable[..., Any])
# Python's own of these, and NumPy's that derive from them: JAX' tell of tracing.
_FOREIGN = (
    TypeError,
    ValueError,
    LookupError,
    ArithmeticError,
    AttributeError,
    AssertionError,
    NotImplementedError,
)
_LIBRARIES = ("builtins", "numpy")
# Where a function's docstring says which of TensorFlow's it is.
_PUBLIC_NAME = re.compile(r"`(tf\.[\w.]+)`")


def explain_refusal(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any], error: Exception
) -> Exception | None:
    """Return the error to raise in place of one that another library raised; None if it is to be raised as it is.

    Args:
        function: What was called.
        args: With what.
        kwargs: And with what by name.
        error: What it raised.
    """
    if not isinstance(error, _FOREIGN) or type(error).__module__.partition(".")[0] not in _LIBRARIES:
        return None
    try:
        given = inspect.signature(function).bind(*args, **kwargs).arguments
    except TypeError:
        # An argument is missing, or there is none of that name: Python says which.
        return None
    found = _PUBLIC_NAME.search(function.__doc__ or "")
    reason = str(error).strip().partition("\n")[0].rstrip(".") or type(error).__name__
    received = ", ".join(f"{name}={_describe(value)}" for name, value in given.items())
    return OperandError(
        f"{found[1] if found else function.__name__} can't compute with these arguments. {cut(reason)}. Received: "
        f"{cut(received)}. Correct their values, shapes or dtypes."
    )


def raises_named(function: _Function) -> _Function:
    """Have a function raise errors that name it."""

    @functools.wraps(function)
    def call_named(*args: Any, **kwargs: Any) -> Any:
        recorder = RECORDER.get()
        if recorder is not None:
            recorded = recorder.record_call(call_named, args, kwargs)
            if recorded is not NOT_RECORDED:
                return recorded
        try:
            try:
                return function(*args, **kwargs)
            except Exception as error:
                if (arrays := _with_arrays(args, kwargs)) is not None:
                    return function(*arrays[0], **arrays[1])
                if (symbol := call_symbolically(function, args, kwargs)) is not None:
                    return symbol
                if (other := explain_refusal(function, args, kwargs, error)) is None:
                    raise
                raise other from error
        except Exception as error:
            tracebacks.shorten(error)
            raise

    return cast(_Function, call_named)


def call_symbolically(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Return what stands for a result where symbolic tensors of Keras are among the arguments, else None.

    Args:
        function: What raised when it was called with them.
        args: Its arguments.
        kwargs: Those by name.
    """
    if "keras" not in sys.modules:
        return None
    (module,) = providers.providers("calls with symbolic tensors")
    return module.call_symbolically(function, args, kwargs)


def _with_arrays(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]] | None:
    """Return arguments in which what is worth an array, and has no dtype of its own, is that array; None without any.

    An assignment of TensorFlow 1 is such a value, which not all functions take as it is.
    """
    if not any(map(_is_worth_an_array, (*args, *kwargs.values()))):
        return None
    return [_array(value) for value in args], {name: _array(value) for name, value in kwargs.items()}


def _is_worth_an_array(value: object) -> bool:
    return hasattr(type(value), "__jax_array__") and not hasattr(value, "dtype")


def _array(value: Any) -> Any:
    return value.__jax_array__() if _is_worth_an_array(value) else value


def _describe(value: object) -> str:
    """Return what there is to know of an argument: of an array its shape and dtype."""
    if isinstance(value, list | tuple) and any(hasattr(part, "dtype") for part in value):
        return f"[{', '.join(map(_describe, value))}]"
    if hasattr(value, "dtype") and hasattr(value, "shape") and value.shape:
        return f"{value.dtype}{tuple(value.shape)}"
    return shown(value)
