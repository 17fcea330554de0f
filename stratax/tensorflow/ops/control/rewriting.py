"""`tf.autograph`: what functions are rewritten to (ops layer)."""

import ast
import inspect
import types
from collections.abc import Callable
from typing import Any

from stratax.base.shown import shown
from stratax.core import autograph
from stratax.errors import BadTypeError


def to_code(
    entity: Callable[..., Any], recursive: bool = True, experimental_optional_features: object = None
) -> str:
    """Return the text of what a function's control flow is rewritten to, as `tf.autograph.to_code`.

    The operators that it calls, `ag__`, are Stratax's.

    Args:
        entity: A Python function with source code, or a method.
        recursive: No effect: what it calls is rewritten when it is called.
        experimental_optional_features: No effect.

    Raises:
        BadTypeError: If it is no function of Python's, or has no source code.
    """
    function = inspect.unwrap(getattr(entity, "__func__", entity))
    if not isinstance(function, types.FunctionType):
        raise BadTypeError(f"entity must be a function of Python's. Received: entity={shown(entity)}.")
    try:
        node, context = autograph.Transpiler().nodes(function)
    except Exception as error:  # AutoGraph raises all kinds for what it can't read.
        raise BadTypeError(f"entity has no source code: {error}. Write it in a file.") from error
    if not isinstance(node, ast.Lambda):
        node.name = context.info.name
    return ast.unparse(ast.fix_missing_locations(node))


def to_graph(
    entity: Callable[..., Any], recursive: bool = True, experimental_optional_features: object = None
) -> Callable[..., Any]:
    """Return a function whose loops and conditions on tensors can be compiled, as `tf.autograph.to_graph`.

    Args:
        entity: A Python function.
        recursive: No effect: what it calls is rewritten when it is called.
        experimental_optional_features: No effect.
    """
    return autograph.convert(entity)


def trace(*args: object) -> None:
    """Print values while a function is traced, as `tf.autograph.trace`.

    Args:
        *args: What to print.
    """
    print(*args)  # noqa: T201 -- it is what the program asks for


def set_verbosity(level: int, alsologtostdout: bool = False) -> None:
    """Do nothing, in place of `tf.autograph.set_verbosity`: what can't be compiled warns.

    Args:
        level: No effect.
        alsologtostdout: No effect.
    """
