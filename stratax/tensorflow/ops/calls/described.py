"""Functions that are made of what is their own: a formula, and a sentence for each argument (ops layer).

Families of TensorFlow 1's functions, its metrics for instance, share arguments, their description, and what is done
with what the formula gives. A family says that once; here a function's signature and docstring are made of both.
"""

import inspect
import textwrap
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

Result = TypeVar("Result")

# How far a line of a docstring goes, whose indentation is 4.
_WIDTH = 116


def parameter(name: str, annotation: object, default: object = inspect.Parameter.empty) -> inspect.Parameter:
    """Return an argument that may be given by position or by name."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Parameter(name, kind, default=default, annotation=annotation)


def parameters_of(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """Return a function's arguments, with their annotations and defaults."""
    return [*inspect.signature(function).parameters.values()]


def bind(signature: inspect.Signature, function: str, /, *args: object, **kwargs: object) -> dict[str, Any]:
    """Return all arguments of a call by name, defaults as well.

    Raises:
        TypeError: If they do not fit.
    """
    try:
        given = signature.bind(*args, **kwargs)
    except TypeError as error:
        # Python says what is wrong, but of `signature` and not of the function.
        raise TypeError(f"{function}() {error}") from None
    given.apply_defaults()
    return given.arguments


def make_function(
    name: str,
    module: str,
    parameters: Iterable[inspect.Parameter],
    returns: Any,
    doc: str,
    call: Callable[[dict[str, Any]], Result],
) -> Callable[..., Result]:
    """Make a function.

    Args:
        name: Its name.
        module: The name of the module that it stands in.
        parameters: Its arguments.
        returns: The annotation of what it gives.
        doc: Its docstring; see :func:`docstring`.
        call: Takes all arguments by name, defaults as well.
    """
    signature = inspect.Signature([*parameters], return_annotation=returns)

    def function(*args: object, **kwargs: object) -> Result:
        return call(bind(signature, name, *args, **kwargs))

    describe(function, name, module, signature, doc)
    return function


def describe(
    function: Callable[..., Any], name: str, module: str, signature: inspect.Signature, doc: str
) -> None:
    """Give a function that takes anything what `help` and `inspect` tell of it."""
    function.__name__ = function.__qualname__ = name
    function.__module__ = module
    function.__doc__ = doc
    function.__annotations__ = {each.name: each.annotation for each in signature.parameters.values()}
    function.__annotations__["return"] = signature.return_annotation
    function.__signature__ = signature  # type: ignore[attr-defined]


def docstring(what: str, sections: Mapping[str, str | Mapping[str, str]]) -> str:
    """Return a docstring.

    Args:
        what: A sentence, which others may follow.
        sections: What stands below each title: a text, or descriptions by name.
    """
    parts = [what]
    for title, content in sections.items():
        entries = [content] if isinstance(content, str) else [": ".join(entry) for entry in content.items()]
        deeper = " " * (4 if isinstance(content, str) else 8)
        lines = [
            textwrap.fill(entry, _WIDTH, initial_indent="    ", subsequent_indent=deeper) for entry in entries
        ]
        parts.append("\n".join([f"{title}:", *lines]))
    return "\n\n".join(parts)
