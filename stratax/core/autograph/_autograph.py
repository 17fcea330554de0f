"""Which functions get their control flow compiled, and how their calls are routed (core layer).

A function decorated with `stratax.function` is rewritten so that loops, conditions and calls go through the
operators of this package, and so are the user's functions that it calls, recursively. Code of Keras, JAX, NumPy, the
standard library and of installed packages that do not use Stratax runs as it is.
"""

import dataclasses
import dis
import functools
import inspect
import sys
import threading
import types
import warnings
import weakref
from collections.abc import Callable
from typing import Any, TypeVar

import jax

from stratax import errors
from stratax.base.callers import stack_level
from stratax.base.shown import shown
from stratax.core import control, regions, storage
from stratax.seams.malt import converter, py_builtins

_F = TypeVar("_F", bound=Callable[..., Any])

_SKIP = "__stratax_do_not_convert__"
_CONVERTED = "__stratax_converted__"


def do_not_convert(function: _F) -> _F:
    """Mark a function whose control flow compiled functions leave to Python, and that of what it calls.

    Follows `tf.autograph.experimental.do_not_convert`. Loops over `stratax.range` in it are unrolled.

    Args:
        function: A Python function.

    Returns:
        The same function.

    Example:
        >>> from stratax import core
        >>> @core.do_not_convert
        ... def scale(x, times):
        ...     return [x * t for t in times]
    """
    # On the function itself: wrappers made with `functools.wraps` copy it.
    setattr(function, _SKIP, True)
    return function


def set_loop_options(
    parallel_iterations: object = None,
    swap_memory: object = None,
    maximum_iterations: object = None,
    shape_invariants: object = None,
) -> None:
    """Say how the loop around it is compiled, as `tf.autograph.experimental.set_loop_options`.

    Args:
        parallel_iterations: Ignored: XLA orders operations.
        swap_memory: Ignored: arrays stay on their device.
        maximum_iterations: Must be None.
        shape_invariants: Ignored: what a loop carries keeps its shape, and another one raises.

    Raises:
        BadArgumentError: If `maximum_iterations` is given, which would end the loop.
    """
    if maximum_iterations is not None:
        raise errors.BadArgumentError(
            "A loop has no number of iterations of its own at which it ends. Received: "
            f"maximum_iterations={shown(maximum_iterations)}. Write it into the loop's condition, or use tf.while_loop."
        )


def convert(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function's loops and conditions on arrays, and those of the user's functions it calls, traceable.

    Args:
        function: A function, bound method or `functools.partial` of one, of the user's. Anything else, a function
            of a library's, one without source code (which warns, once, if it has control flow), and one marked with
            :func:`do_not_convert` comes back as it is.

    Returns:
        A callable with the same signature, defaults, closure and bound object. It behaves like `function` where all
        conditions are Python's.
    """
    if isinstance(function, functools.partial):
        return functools.partial(convert(function.func), *function.args, **function.keywords)
    if isinstance(function, types.MethodType):
        converted = convert(function.__func__)
        return function if converted is function.__func__ else types.MethodType(converted, function.__self__)
    if isinstance(function, types.FunctionType) and _is_convertible(function):
        # What can't be rewritten runs as it is; a warning says so where it matters.
        return (_rewrite(function) if _leads_to_users(function) else None) or function
    return function


def call_converted(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None,
    scope: "FunctionScope | None" = None,
) -> Any:
    """Call `function` from rewritten code: rewritten too if it is the user's."""
    result = _convert_call(function, args, kwargs or {}, scope)
    control.note(result)
    return result


def _convert_call(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], scope: Any) -> Any:
    if isinstance(function, functools.partial):
        return call_converted(function.func, (*function.args, *args), {**function.keywords, **kwargs}, scope)
    if isinstance(function, types.MethodType):
        return call_converted(function.__func__, (function.__self__, *args), kwargs, scope)
    if isinstance(function, types.FunctionType):
        is_users = storage.is_users(function) and _SKIP not in function.__dict__
        target = _rewrite(function) if is_users and _is_convertible(function) else None
        if is_users and target is None and _CONVERTED not in function.__dict__:
            # Nobody will see what it does with them.
            control.check_surroundings(function, args, kwargs)
        return (target or function)(*args, **kwargs)
    if isinstance(function, (type, types.BuiltinFunctionType)):
        return _call_builtin(function, args, kwargs, scope)
    if isinstance(function, jax.Array) and not args and not kwargs:
        # `variable.value()`: in rewritten code nobody can tell that the attribute is called (`_called`).
        return function
    # An object that is called: a layer of the user's own, say.
    method = type(function).__call__
    if isinstance(method, types.FunctionType) and _is_convertible(method) and storage.is_users(method):
        return call_converted(method, (function, *args), kwargs, scope)
    return function(*args, **kwargs)


def _call_builtin(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], scope: object
) -> Any:
    control.check_call(function, args, kwargs)
    if regions.current_region() and (stream := control.combine(function, args, kwargs)) is not None:
        return stream
    # These look at their caller's frame, which in rewritten code is another function's.
    if function is super and not args:
        return py_builtins.super_in_original_context(function, args, scope)
    if function is locals:
        return py_builtins.locals_in_original_context(scope)
    if function is globals:
        return py_builtins.globals_in_original_context(scope)
    if function is eval:
        return py_builtins.eval_in_original_context(function, args, scope)
    if function is range and any(isinstance(bound, jax.core.Tracer) for bound in args):
        raise errors.TracingError(
            "Python's `range` needs numbers that are known while a function is traced. Expected: ints. "
            f"Received: range{shown(args)}. Use `stratax.range`, which becomes a compiled loop."
        )
    return function(*args, **kwargs)


def _is_convertible(function: types.FunctionType) -> bool:
    """Return whether a function may be rewritten at all."""
    attributes = function.__dict__
    if _SKIP in attributes or _CONVERTED in attributes:
        return False
    generators = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
    return not function.__code__.co_flags & generators


def _leads_to_users(function: types.FunctionType) -> bool:
    """Return whether a function belongs to the user's program, or is a wrapper of ours around one that does."""
    if storage.is_users(function):
        return True
    wrapped = function.__dict__.get("__wrapped__")
    ours = function.__globals__.get("__name__", "").partition(".")[0] == "stratax"
    return ours and isinstance(wrapped, types.FunctionType) and _leads_to_users(wrapped)


_lock = threading.Lock()
_given_up: weakref.WeakSet[types.CodeType] = weakref.WeakSet()


def _rewrite(function: types.FunctionType) -> types.FunctionType | None:
    """Return the rewritten function, or None where it can't be or need not be rewritten."""
    code = function.__code__
    if code in _given_up:
        return None
    try:
        if not _needs_rewriting(code):
            _given_up.add(code)
            return None
        # Most programs have nothing that is rewritten.
        from stratax.core.autograph import _transpile

        converted = _transpile.transpile(function, OPERATORS)
    except Exception as error:  # AutoGraph raises all kinds for what it can't read; Python still can.
        with _lock:
            # Under the lock, so that only one of several threads warns.
            first = code not in _given_up
            _given_up.add(code)
        if first and _has_branches(code) and code.co_name != "<lambda>":
            warnings.warn(
                f"The control flow of {shown(function.__qualname__)} ({code.co_filename}:{code.co_firstlineno}) "
                "can't be "
                f"compiled and runs as Python: {type(error).__name__}: {error}. Loops over `stratax.range` in it are "
                "unrolled. Write it in a file, without match and names that begin with two "
                "underscores, or mark it with `stratax.core.do_not_convert`.",
                RuntimeWarning,
                stacklevel=stack_level(),
            )
        return None
    setattr(converted, _CONVERTED, True)
    return converted


_BRANCHES = ("FOR_ITER", "POP_JUMP", "JUMP_IF", "SEND")


def _has_branches(code: types.CodeType) -> bool:
    """Return whether a function, or one inside it, has loops or conditions."""
    if any(instruction.opname.startswith(_BRANCHES) for instruction in dis.get_instructions(code)):
        return True
    return any(_has_branches(inner) for inner in _inner_codes(code))


def _needs_rewriting(code: types.CodeType) -> bool:
    """Return whether a function has control flow of its own or calls functions that may have."""
    # Calls alone are reason enough: what is called may be the user's, and have loops.
    calls = any(
        instruction.opname.startswith(("CALL", "PRECALL")) for instruction in dis.get_instructions(code)
    )
    return calls or _has_branches(code) or any(_needs_rewriting(inner) for inner in _inner_codes(code))


def _inner_codes(code: types.CodeType) -> list[types.CodeType]:
    return [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]


class FunctionScope:
    """Stands around the body of a rewritten function.

    Args:
        function_name: The function's name.
        scope_name: What the scope is called in the function's frame.
        options: Unused.
    """

    def __init__(self, function_name: str, scope_name: str, options: object) -> None:
        self.function_name = function_name
        self.name = scope_name

    def __enter__(self) -> "FunctionScope":
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def ret(self, value: object, did_return: object) -> Any:
        """Return the result of the function, once all its statements have run."""
        if isinstance(value, control.UndefinedReturnValue):
            return None
        if isinstance(value, control.PartialReturn):
            raise errors.TracingError(
                f"Function {shown(self.function_name)} returns a value only if a condition on an array holds; "
                "else it would "
                "return None, and a compiled program can't choose between them. Expected: a value on every path. "
                "Add a `return` of the same shape and dtype at the end of the function."
            )
        return value


def _with_function_scope(thunk: Callable[[FunctionScope], Any], scope_name: str, options: object) -> Any:
    with FunctionScope("<lambda>", scope_name, options) as scope:
        return thunk(scope)


def _load_or_undefined(load: Callable[[], Any], name: str) -> Any:
    """Return the value of `self.x` or `d[k]`, if it has one."""
    try:
        return load()
    # What a loop or branch assigns may have no value before it.
    except (KeyError, AttributeError, NameError, IndexError, TypeError):
        return control.Undefined(name)


def _mark(function: Callable[..., Any]) -> Any:
    """Mark a function that was rewritten along with the one around it."""
    if isinstance(function, types.FunctionType):
        setattr(function, _CONVERTED, True)
    return function


def _find_caught() -> BaseException | None:
    """Return the exception that is being handled."""
    return sys.exc_info()[1]


@dataclasses.dataclass(frozen=True, slots=True)
class Operators:
    """What rewritten code calls, under AutoGraph's names."""

    for_stmt: Any = control.for_stmt
    while_stmt: Any = control.while_stmt
    if_stmt: Any = control.if_stmt
    if_exp: Any = control.if_exp
    and_: Any = control.and_
    or_: Any = control.or_
    not_: Any = control.not_
    converted_call: Any = call_converted
    ld: Any = control.load
    ldu: Any = _load_or_undefined
    Undefined: Any = control.Undefined
    UndefinedReturnValue: Any = control.UndefinedReturnValue
    FunctionScope: Any = FunctionScope
    with_function_scope: Any = _with_function_scope
    autograph_artifact: Any = _mark
    caught: Any = _find_caught
    STD: Any = converter.STANDARD_OPTIONS
    ConversionOptions: Any = converter.ConversionOptions
    Feature: Any = converter.Feature


OPERATORS = Operators()
