"""Whether calling a Python function once for a whole batch can differ from calling it for every element (data layer).

A function is vectorised only if everything that its code can reach is known to be free of side effects, random state
and hidden inputs. The scan is conservative: what it does not know is called element by element.
"""

import builtins
import dis
import functools
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

_TRUSTED = {"jax", "jaxlib", "keras", "math", "ml_dtypes", "numpy", "operator", "_operator", "stratax"}
_BUILTINS = {
    "abs", "all", "any", "bool", "complex", "dict", "divmod", "enumerate", "float", "int", "len", "list", "max", "min",
    "pow", "range", "reversed", "round", "slice", "sorted", "str", "sum", "tuple", "zip",
}  # fmt: skip
# Doors from trusted modules to state, files and devices, and the methods that change their object.
_FORBIDDEN = {
    "Layer", "SeedGenerator", "Variable", "append", "backend", "byteswap", "clear", "config", "data", "debug",
    "discard", "dump", "experimental", "extend", "fill", "fromfile", "insert", "io", "io_callback", "itemset", "layers",
    "load", "loadtxt", "memmap", "numpy_function", "partition", "pop", "popitem", "pure_callback", "print", "put",
    "py_function", "random", "remove", "save", "savetxt", "setdefault", "seterr", "setfield", "setflags",
    "sort", "summary", "tofile", "update", "utils", "write",
}  # fmt: skip
_HARMLESS = (int, float, complex, str, bytes, bool, type(None), type(Ellipsis), slice, np.generic, np.dtype)
_STORES = {"STORE_GLOBAL", "DELETE_GLOBAL", "STORE_ATTR", "DELETE_ATTR", "LOAD_BUILD_CLASS"}
_ITEM_STORES = {"STORE_SUBSCR", "DELETE_SUBSCR", "STORE_SLICE"}
_MAX_DEPTH = 8


class _Impure(Exception):
    """The scan met something that it does not know."""


def is_pure(function: Callable[..., Any]) -> bool:
    """Whether `function` is known to depend on nothing but its arguments and constants, and to change nothing."""
    try:
        _check_callable(function, _MAX_DEPTH)
    except (_Impure, RecursionError):
        return False
    return True


def _check_callable(function: Any, depth: int) -> None:
    if depth == 0:
        raise _Impure
    if isinstance(function, functools.partial):
        _check_callable(function.func, depth - 1)
        for value in (*function.args, *function.keywords.values()):
            _check_value(value, False, depth - 1)
    elif _is_trusted(function) or _is_dtype(function):
        return
    elif isinstance(function, types.FunctionType):
        _check_function(function, depth)
    elif _module_root(type(function)) in ("jax", "jaxlib") and hasattr(function, "__wrapped__"):
        _check_callable(function.__wrapped__, depth - 1)
    else:
        raise _Impure


def _is_dtype(value: Any) -> bool:
    """`np.float32` and its like, those of `jax.numpy` included."""
    return isinstance(value, type) and (
        issubclass(value, np.generic) or type(value).__name__ == "_ScalarMeta"
    )


def _module_root(value: Any) -> str:
    return str(getattr(value, "__module__", None) or "").split(".")[0]


def _is_trusted(function: Any) -> bool:
    """A function of a library that computes with arrays."""
    if isinstance(function, np.ufunc):
        return not function.__name__.endswith("(vectorized)")
    if isinstance(function, types.BuiltinFunctionType) and not isinstance(
        function.__self__, types.ModuleType | type(None)
    ):
        return False
    module = str(getattr(function, "__module__", None) or "")
    path = f"{module}.{getattr(function, '__qualname__', '')}".split(".")
    if path[0] not in _TRUSTED or isinstance(function, types.MethodType | type):
        return False
    return not any("random" in part or part in _FORBIDDEN - {"backend", "data", "sort"} for part in path)


def _check_function(function: types.FunctionType, depth: int) -> None:
    code = function.__code__
    if code.co_flags & 0x2A0:
        raise _Impure
    instructions = list(_instructions(code))
    writes_items = any(step.opname in _ITEM_STORES for step in instructions) or _has_out(code)
    for value in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
        _check_value(value, writes_items, depth - 1)
    cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
    for step, following in zip(instructions, [*instructions[1:], None], strict=True):
        if not _leads_to_parsing(step, following):
            _check_step(step, function, cells, writes_items, depth)


def _leads_to_parsing(step: dis.Instruction, following: dis.Instruction | None) -> bool:
    """Whether it is the middle of `tf.io.parse_example` or `stratax.data.parse_example`."""
    is_door = step.opname == "LOAD_ATTR" and step.argval in ("data", "io")
    return is_door and following is not None and following.argval == "parse_example"


def _check_step(
    step: dis.Instruction, function: types.FunctionType, cells: dict[str, Any], writes_items: bool, depth: int
) -> None:
    name = step.argval
    if step.opname in _STORES or (step.opname in ("STORE_DEREF", "DELETE_DEREF") and name in cells):
        raise _Impure
    if step.opname.startswith("IMPORT_NAME") and str(name).split(".")[0] not in _TRUSTED:
        raise _Impure
    if step.opname in ("LOAD_ATTR", "LOAD_METHOD", "IMPORT_FROM") and (
        name in _FORBIDDEN or name.startswith(("__", "random_"))
    ):
        raise _Impure
    if step.opname in ("LOAD_DEREF", "LOAD_CLASSDEREF") and name in cells:
        try:
            value = cells[name].cell_contents
        except ValueError:
            raise _Impure from None
        _check_value(value, writes_items, depth - 1)
    if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
        _check_global(name, function, writes_items, depth)


def _check_global(name: str, function: types.FunctionType, writes_items: bool, depth: int) -> None:
    if name in function.__globals__:
        _check_value(function.__globals__[name], writes_items, depth - 1)
    elif name not in _BUILTINS or not hasattr(builtins, name):
        raise _Impure


def _instructions(code: types.CodeType) -> Iterator[dis.Instruction]:
    yield from dis.get_instructions(code)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _instructions(constant)


def _has_out(code: types.CodeType) -> bool:
    """Whether some call in it has an argument named `out`."""
    nested = (_has_out(constant) for constant in code.co_consts if isinstance(constant, types.CodeType))
    return any(isinstance(c, tuple) and "out" in c for c in code.co_consts) or any(nested)


def _check_value(value: Any, writes_items: bool, depth: int) -> None:
    """Raises unless reading `value` gives the same for every element and the function can't change it."""
    if depth <= 0:
        raise _Impure
    if isinstance(value, _HARMLESS) or _is_feature(value):
        return
    if isinstance(value, np.ndarray) or _is_jax_array(value):
        if writes_items:
            raise _Impure
    elif isinstance(value, tuple | frozenset):
        for part in value:
            _check_value(part, writes_items, depth - 1)
    elif type(value) in (list, dict):
        if writes_items:
            raise _Impure
        for part in value.values() if isinstance(value, dict) else value:
            _check_value(part, writes_items, depth - 1)
    elif isinstance(value, types.ModuleType):
        _check_module(value)
    elif not (isinstance(value, type) and value.__name__ in _BUILTINS):
        _check_callable(value, depth)


def _is_feature(value: Any) -> bool:
    """Whether it says what to make of a feature of an Example; such things never change."""
    if "stratax.data._features" not in sys.modules:
        return False
    from stratax.data._features import ParsedFeature

    return isinstance(value, ParsedFeature)


def _is_jax_array(value: Any) -> bool:
    if "jax" not in sys.modules:
        return False
    from jax import Array

    return isinstance(value, Array)


def _check_module(module: types.ModuleType) -> None:
    path = module.__name__.split(".")
    if path[0] not in _TRUSTED or any("random" in part or part == "debug" for part in path):
        raise _Impure
