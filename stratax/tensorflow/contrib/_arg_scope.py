"""Defaults for the arguments of functions, for a block: `tf.contrib.framework.arg_scope`."""

import contextlib
import functools
import inspect
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from stratax import errors
from stratax.base.recording import composite
from stratax.base.shown import shown
from stratax.base.surroundings import Slot

_Function = TypeVar("_Function", bound=Callable[..., Any])
_Scope = Mapping[str, Mapping[str, Any]]

# The defaults of each function, by its key.
_SCOPE: Slot[_Scope] = Slot("defaults of arguments", types.MappingProxyType({}))
# The arguments that have defaults, of each function that scopes know, by its key.
_decorated: dict[str, tuple[str, ...]] = {}


def arg_scope_func_key(op: Callable[..., Any]) -> str:
    """Return what a function is called in a scope."""
    return getattr(op, "_key_op", None) or f"{op.__module__}.{op.__qualname__}"


def add_arg_scope(func: _Function) -> _Function:
    """Decorate a function whose arguments may have defaults of a scope, as `tf.contrib.framework.add_arg_scope`.

    Args:
        func: Any function.

    Example:
        >>> @add_arg_scope
        ... def scaled(x, factor=1):
        ...     return x * factor
        >>> with arg_scope([scaled], factor=3):
        ...     scaled(2), scaled(2, factor=5)
        (6, 10)
    """
    key = arg_scope_func_key(func)
    _decorated[key] = tuple(
        name for name, each in inspect.signature(func).parameters.items() if each.default is not each.empty
    )

    @functools.wraps(func)
    def function(*args: Any, **kwargs: Any) -> Any:
        return func(*args, **{**_SCOPE.get().get(key, {}), **kwargs})

    function._key_op = key  # type: ignore[attr-defined]
    return function  # type: ignore[return-value]


def layer_in_scope(func: _Function) -> _Function:
    """Decorate a layer as `add_arg_scope` does; of a session's graph it is one call, with the scope around it."""

    @functools.wraps(func)
    def call_in(scope: dict[str, dict[str, Any]], /, *args: Any, **kwargs: Any) -> Any:
        with _SCOPE.holding(scope):
            return func(*args, **kwargs)

    recorded = composite(call_in)

    @functools.wraps(func)
    def layer(*args: Any, **kwargs: Any) -> Any:
        # Dictionaries of Python, in which tensors are found.
        return recorded({key: dict(defaults) for key, defaults in _SCOPE.get().items()}, *args, **kwargs)

    return add_arg_scope(layer)  # type: ignore[return-value]


def has_arg_scope(func: Callable[..., Any]) -> bool:
    """Return whether `add_arg_scope` has decorated a function."""
    return arg_scope_func_key(func) in _decorated


def arg_scoped_arguments(func: Callable[..., Any]) -> tuple[str, ...]:
    """Return the names of the arguments that a scope may give defaults to."""
    _check_known(func)
    return _decorated[arg_scope_func_key(func)]


def current_arg_scope() -> _Scope:
    """Return the scope that is entered: the defaults of each function, by its key."""
    return _SCOPE.get()


@contextlib.contextmanager
def arg_scope(
    list_ops_or_scope: Sequence[Callable[..., Any]] | _Scope, **kwargs: object
) -> Iterator[dict[str, Mapping[str, Any]]]:
    """Give functions other defaults in a block, as `tf.contrib.framework.arg_scope`.

    Args:
        list_ops_or_scope: The functions, each decorated by `add_arg_scope`; or what an earlier scope has given, to
            enter it again.
        **kwargs: The arguments; none with an earlier scope.

    Yields:
        The scope.

    Raises:
        BadArgumentError: If a function is not decorated, or arguments are given to an earlier scope.
    """
    if isinstance(list_ops_or_scope, Mapping):
        if kwargs:
            raise errors.BadArgumentError(
                f"A scope that is entered again takes no arguments. Received: {shown(sorted(kwargs))}."
            )
        scope = dict(list_ops_or_scope)
    else:
        if not isinstance(list_ops_or_scope, list | tuple):
            raise errors.BadTypeError(
                "arg_scope takes a list of functions, or an earlier scope. Received: "
                f"{shown(list_ops_or_scope)}."
            )
        scope = dict(_SCOPE.get())
        for func in list_ops_or_scope:
            _check_known(func)
            key = arg_scope_func_key(func)
            scope[key] = {**scope.get(key, {}), **kwargs}
    with _SCOPE.holding(scope):
        yield scope


def _check_known(func: Callable[..., Any]) -> None:
    if not has_arg_scope(func):
        raise errors.BadArgumentError(
            f"A scope gives defaults to functions that add_arg_scope has decorated. Received: {shown(func)}."
        )
