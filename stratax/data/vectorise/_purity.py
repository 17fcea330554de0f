"""Proves that a Python function may be called once for a whole batch instead of for every element (data layer).

A proof looks at everything that the function's code can reach: it calls only functions of libraries that are known
one by one to be pure, and functions whose own code is looked at in turn; it stores nothing outside of itself. What
it could still write to, the arrays among its globals and cells, it gets as read-only views. Where there is no proof,
the function is called exactly once for each element, in order.
"""

import builtins
import dis
import functools
import inspect
import sys
import types
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from stratax.data.elements import DType
from stratax.data.vectorise._known_pure import BUILTINS, UFUNC_METHODS, is_dtype, is_known, is_plain_library
from stratax.data.vectorise._unchanging import Unchanging

_HARMLESS = {int, float, complex, str, bytes, bool, type(None), type(Ellipsis), slice}
# What the values that a function computes with have: arrays of NumPy and JAX, strings, tuples, dicts, sparse tensors.
_METHODS = """
    T add all any apply argmax argmin argsort as_list astype at clip conj copy count cumprod cumsum decode
    dense_shape diagonal divide dot dtype encode endswith find flatten format get get_shape imag indices isdigit
    item items itemsize join keys kind lower mT max mean merge_with min multiply name nbytes ndim nonzero power
    prod ptp ravel real repeat replace reshape round searchsorted set set_shape shape size split squeeze
    startswith std strip sum swapaxes take tobytes tolist trace transpose upper values var view
"""
_SAFE_NAMES = frozenset(_METHODS.split())
# CPython's names of instructions, from 3.11 on; those that a version does not have do no harm.
_STORES = {"STORE_GLOBAL", "DELETE_GLOBAL", "STORE_ATTR", "DELETE_ATTR", "LOAD_BUILD_CLASS"}
_ITEM_STORES = {"STORE_SUBSCR", "DELETE_SUBSCR", "STORE_SLICE"}
# On a list or dict these change it in place.
_CHANGING_OPERATORS = {"+=", "*=", "|="}
_CELL_LOADS = {"LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF"}
_GENERATOR_FLAGS = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
# How deep calls and containers are followed: further than code is nested, and an end for recursive functions.
_MAX_DEPTH = 8


class _Impure(Exception):
    """The scan met something that it does not know."""


@dataclass(frozen=True, slots=True)
class Proof:
    """That a function is pure, as long as what its names stand for stays.

    Attributes:
        function: The function; the arrays among its globals and cells are read-only for it.
    """

    function: Callable[..., Any]
    _globals: list[tuple[dict[str, Any], str, Any]]
    _cells: list[tuple[types.CellType, Any]]

    @property
    def reached(self) -> list[Any]:
        """What its names and those of the functions that it calls stand for."""
        return [value for _, _, value in self._globals] + [value for _, value in self._cells]

    def holds(self) -> bool:
        """Return whether every global and cell that was looked at still has its value."""
        # By identity: an equal object may be another function by the next call.
        return all(space.get(name, _MISSING) is value for space, name, value in self._globals) and all(
            _contents(cell) is value for cell, value in self._cells
        )


_MISSING = object()


def _contents(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return _MISSING


def prove(function: Callable[..., Any], fields: Iterable[str] = ()) -> Proof | None:
    """Prove that `function` depends on nothing but its arguments and constants, and changes nothing; None if it can't.

    Args:
        function: The user's.
        fields: Names of attributes that its arguments may have besides those of arrays: a namedtuple's.
    """
    scan = _Scan(frozenset(fields))
    try:
        scan.check_callable(function, _MAX_DEPTH)
    except (_Impure, RecursionError):
        return None
    # A list or dict can't be made read-only, and code that handles errors could go on where writing to an array
    # failed.
    if (scan.has_containers and scan.changes_items) or (scan.has_arrays and scan.catches_errors):
        return None
    own = _read_only(function) if scan.has_arrays else function
    return Proof(own, scan.globals, scan.cells)


def is_pure(function: Callable[..., Any]) -> bool:
    """Return whether there is a proof that `function` depends on nothing but its arguments and changes nothing."""
    return prove(function) is not None


@dataclass
class _Scan:
    """What the code of a function, and of those that it calls, reaches.

    Attributes:
        fields: Names that any value may have.
        has_arrays: Whether an array of NumPy is among it.
        has_containers: Whether a list or a dict is.
        changes_items: Whether some code stores items, or uses an operator that would change a list or dict.
        catches_errors: Whether some code handles errors, so that it could go on where an array is read-only.
        globals: The global names that were looked at.
        cells: The cells likewise.
    """

    fields: frozenset[str]
    has_arrays: bool = False
    has_containers: bool = False
    changes_items: bool = False
    catches_errors: bool = False
    globals: list[tuple[dict[str, Any], str, Any]] = field(default_factory=list)
    cells: list[tuple[types.CellType, Any]] = field(default_factory=list)

    def check_callable(self, function: Any, depth: int) -> None:
        """Raise unless calling `function` is pure."""
        # Deeper than code is nested in practice: it may be a recursion.
        if depth <= 0:
            raise _Impure
        if isinstance(function, functools.partial):
            for value in (function.func, *function.args, *function.keywords.values()):
                self._check_value(value, depth - 1)
        elif is_known(function) or is_dtype(function) or _is_namedtuple(function):
            return
        elif type(function) is types.FunctionType:
            self._check_function(function, depth)
        elif _is_compiled(function):
            self._check_compiled(function.__wrapped__, depth)
        else:
            raise _Impure

    def _check_compiled(self, function: Callable[..., Any], depth: int) -> None:
        """Refuse a compiled function: it can't be given read-only arrays in the place of its own."""
        # A scan of its own, whose arrays must not make the outer function read-only in vain.
        inner = _Scan(self.fields)
        inner.check_callable(function, depth - 1)
        if inner.has_arrays or (inner.has_containers and inner.changes_items):
            raise _Impure
        self.globals += inner.globals
        self.cells += inner.cells

    def _check_function(self, function: types.FunctionType, depth: int) -> None:
        code = function.__code__
        # Their bodies run later, when nobody checks.
        if code.co_flags & _GENERATOR_FLAGS:
            raise _Impure
        # Defaults live as long as the function: a list there is shared by all calls.
        for value in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
            self._check_value(value, depth - 1)
        cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
        for part in _code_objects(code):
            self._check_code(list(dis.get_instructions(part)), function, cells, depth)

    def _check_code(
        self,
        steps: list[dis.Instruction],
        function: types.FunctionType,
        cells: dict[str, types.CellType],
        depth: int,
    ) -> None:
        position = 0
        while position < len(steps):
            step, position = steps[position], position + 1
            self._check_step(step, cells)
            found = self._load(step, function, cells)
            if found is _MISSING:
                continue
            while position < len(steps) and _is_attribute(steps[position]) and _has_fixed_attributes(found):
                found = _attribute(found, steps[position].argval)
                position += 1
            # `np.add.reduce` is pure; `np.add.at` writes to its argument.
            if isinstance(found, np.ufunc) and position < len(steps) and _is_attribute(steps[position]):
                if steps[position].argval not in UFUNC_METHODS:
                    raise _Impure
                position += 1
            self._check_value(found, depth - 1)

    def _check_step(self, step: dis.Instruction, cells: dict[str, types.CellType]) -> None:
        name, operation = step.argval, step.opname
        # An import runs the code of a module.
        if operation in _STORES or operation.startswith("IMPORT_"):
            raise _Impure
        # A cell from outside, not one that the function shares with those inside it.
        if operation in ("STORE_DEREF", "DELETE_DEREF") and name in cells:
            raise _Impure
        if _is_attribute(step) and name not in _SAFE_NAMES and name not in self.fields:
            raise _Impure
        if operation in _ITEM_STORES or (operation == "BINARY_OP" and step.argrepr in _CHANGING_OPERATORS):
            self.changes_items = True
        # What every handler of an exception begins with.
        self.catches_errors |= operation == "PUSH_EXC_INFO"

    def _load(
        self, step: dis.Instruction, function: types.FunctionType, cells: dict[str, types.CellType]
    ) -> Any:
        """Return the value from outside of the function that an instruction loads; `_MISSING` if it loads none."""
        name = step.argval
        if step.opname in _CELL_LOADS and name in cells:
            value = _contents(cells[name])
            self.cells.append((cells[name], value))
        elif step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            value = function.__globals__.get(name, _MISSING)
            # Noted, so that the proof ends when somebody replaces it.
            self.globals.append((function.__globals__, name, value))
            value = vars(builtins).get(name, _MISSING) if value is _MISSING else value
        else:
            return _MISSING
        if value is _MISSING:
            raise _Impure
        return value

    def _check_value(self, value: Any, depth: int) -> None:
        """Raise unless reading `value` gives the same for every element."""
        if depth <= 0:
            raise _Impure
        if _is_constant(value) or _is_builtin(value) or _is_jax_array(value):
            return
        # An object array holds what could be changed.
        if type(value) is np.ndarray and not value.dtype.hasobject:
            self.has_arrays = True
        elif type(value) in (tuple, frozenset, list, dict) or _is_namedtuple(type(value)):
            self.has_containers |= type(value) in (list, dict)
            for part in value.values() if isinstance(value, dict) else value:
                self._check_value(part, depth - 1)
        else:
            self.check_callable(value, depth)


def _is_attribute(step: dis.Instruction) -> bool:
    return step.opname in ("LOAD_ATTR", "LOAD_METHOD")


def _code_objects(code: types.CodeType) -> Iterator[types.CodeType]:
    """Yield a function's code, and that of the functions and comprehensions in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _code_objects(constant)


def _has_fixed_attributes(value: object) -> bool:
    """Return whether what stands behind its dot is fixed: of a module of a known library, or of a class there."""
    # Reading an attribute of another module may run its `__getattr__`.
    if isinstance(value, types.ModuleType):
        if not is_plain_library(value.__name__):
            raise _Impure
        return True
    return isinstance(value, type) and is_plain_library(value.__module__)


def _attribute(value: object, name: str) -> Any:
    # Special attributes may lead anywhere, to `__dict__` for example.
    if name.startswith("__"):
        raise _Impure
    try:
        return getattr(value, name)
    except AttributeError:
        raise _Impure from None


def _is_constant(value: object) -> bool:
    if type(value) in _HARMLESS or isinstance(value, np.dtype | DType):
        return True
    if isinstance(value, np.generic):
        return is_dtype(type(value)) and not value.dtype.hasobject
    return _is_unchanging(value)


def _is_builtin(value: object) -> bool:
    return isinstance(value, type | types.BuiltinFunctionType) and value in BUILTINS


def _is_unchanging(value: object) -> bool:
    return isinstance(value, Unchanging) and _root(type(value)) == "stratax"


def _is_jax_array(value: object) -> bool:
    if "jax" not in sys.modules:
        return False
    from jax import Array
    from jax.core import Tracer

    return isinstance(value, Array) and not isinstance(value, Tracer)


def _is_namedtuple(kind: object) -> bool:
    """Return whether making one calls nothing of the user's."""
    if not (isinstance(kind, type) and issubclass(kind, tuple) and kind.__bases__ == (tuple,)):
        return False
    # `collections.namedtuple` makes `__new__` in a namespace of this name; one that a user wrote has another.
    space = getattr(kind.__new__, "__globals__", {})
    return str(space.get("__name__", "")).startswith("namedtuple_")


def _is_compiled(function: Callable[..., Any]) -> bool:
    """Return whether a value is what `jax.jit` or `stratax.function` makes of a function."""
    is_compiler = _root(type(function)) in ("jax", "jaxlib", "stratax")
    return is_compiler and not isinstance(function, type) and callable(getattr(function, "__wrapped__", None))


def _root(value: object) -> str:
    return str(getattr(value, "__module__", None) or "").split(".")[0]


def _read_only(value: Any) -> Any:
    """Return the same with read-only views in the place of all arrays that it can reach."""
    if type(value) is np.ndarray:
        # A view: the user's own array stays writeable.
        view = value.view()
        view.flags.writeable = False
        return view
    if type(value) in (tuple, frozenset, list):
        return type(value)(_read_only(part) for part in value)
    if type(value) is dict:
        return {key: _read_only(part) for key, part in value.items()}
    if isinstance(value, functools.partial):
        keywords = {key: _read_only(part) for key, part in value.keywords.items()}
        return functools.partial(_read_only(value.func), *map(_read_only, value.args), **keywords)
    if type(value) is types.FunctionType and not is_known(value):
        return _read_only_function(value)
    return type(value)._make(map(_read_only, value)) if _is_namedtuple(type(value)) else value


def _read_only_function(function: types.FunctionType) -> types.FunctionType:
    # Only what the code can name is copied, as read-only values.
    names = {name for code in _code_objects(function.__code__) for name in code.co_names}
    # Builtins are looked up behind a module's globals, as Python does.
    space = function.__globals__
    own = {name: _read_only(space[name]) for name in names if name in space}
    # A function's globals need it.
    own["__builtins__"] = space.get("__builtins__", builtins)
    cells = [types.CellType(_read_only(cell.cell_contents)) for cell in function.__closure__ or ()]
    copy = types.FunctionType(
        function.__code__, own, function.__name__, _read_only(function.__defaults__), tuple(cells)
    )
    # The constructor of functions takes no defaults of keyword-only arguments.
    copy.__kwdefaults__ = _read_only(function.__kwdefaults__)
    copy.__qualname__ = function.__qualname__
    return copy
