"""Assertions with the arguments of TensorFlow 1, which has `data` among them (v1 layer)."""

import functools
import inspect
from collections.abc import Callable
from typing import Any

from stratax.base.recording import composite
from stratax.base.typing import TensorLike
from stratax.tensorflow.ops.control import assertions, shape_assertions
from stratax.tensorflow.v1._current import current_or_none
from stratax.tensorflow.v1.scopes import GRAPH

# What TensorFlow 1's assertions have before `data`.
_OPERANDS = ("x", "y", "rtol", "atol", "rank", "ranks")


def _with_data(function: Callable[..., Any]) -> Any:
    """Return an assertion that takes its operands, `data`, `summarize`, `message` and `name`, in this order."""
    parameters = inspect.signature(function).parameters
    operands = [parameters[name] for name in parameters if name in _OPERANDS]
    later = [
        inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=None)
        for name in ("data", "summarize", "message", "name")
    ]
    signature = inspect.Signature([*operands, *later])

    def assertion(*args: object, **kwargs: object) -> None:
        given = signature.bind(*args, **kwargs).arguments
        arguments = {name: given[name] for name in given if name in _OPERANDS}
        function(**arguments, message=_message(given.get("message"), given.get("data")))

    assertion.__name__ = assertion.__qualname__ = function.__name__
    assertion.__doc__ = _DOC.format(name=function.__name__)
    assertion.__signature__ = signature  # type: ignore[attr-defined]
    return _as_operation(assertion)


def _as_operation(assertion: Callable[..., None]) -> Any:
    """Have an assertion be an operation in a graph that a session runs, for what is to run behind it."""

    @functools.wraps(assertion)
    def check(*args: object, **kwargs: object) -> Any:
        scope = current_or_none()
        if scope is not None and scope.mode == GRAPH:
            return scope.operation(lambda: assertion(*args, **kwargs), name=f"{assertion.__name__}/Assert")
        return assertion(*args, **kwargs)

    return composite(check)


_DOC = """Follow `tf.debugging.{name}`, with the arguments of `tf.compat.v1.{name}`.

`data` is a list whose texts are shown in place of the message if there is none; `summarize` and `name` are ignored.

Raises:
    BadArgumentError: It does not hold. A compiled function raises it when its program has run."""


def _message(message: str | None, data: Any) -> str | None:
    if message is not None or data is None:
        return message
    texts = [part for part in data if isinstance(part, str | bytes)]
    return (
        " ".join(part if isinstance(part, str) else part.decode("utf-8", "replace") for part in texts) or None
    )


Assert = _as_operation(assertions.Assert)
assert_equal = _with_data(assertions.assert_equal)
assert_none_equal = _with_data(assertions.assert_none_equal)
assert_less = _with_data(assertions.assert_less)
assert_less_equal = _with_data(assertions.assert_less_equal)
assert_greater = _with_data(assertions.assert_greater)
assert_greater_equal = _with_data(assertions.assert_greater_equal)
assert_near = _with_data(assertions.assert_near)
assert_negative = _with_data(assertions.assert_negative)
assert_non_negative = _with_data(assertions.assert_non_negative)
assert_non_positive = _with_data(assertions.assert_non_positive)
assert_positive = _with_data(assertions.assert_positive)
assert_rank = _with_data(shape_assertions.assert_rank)
assert_rank_at_least = _with_data(shape_assertions.assert_rank_at_least)
assert_rank_in = _with_data(shape_assertions.assert_rank_in)


def assert_scalar(tensor: TensorLike, name: str | None = None, message: str | None = None) -> Any:
    """Assert that an array has no dimensions, and return it, as `tf.compat.v1.assert_scalar`.

    Args:
        tensor: The array.
        name: Ignored.
        message: What the error says first.

    Raises:
        BadArgumentError: It has some.
    """
    shape_assertions.assert_scalar(tensor, message, name)
    return tensor
