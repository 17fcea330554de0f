"""What makes two calls of a compiled function the same program (core layer).

Arrays are dynamic: only their shape and dtype count. Everything else is static, as in `tf.function`: numbers, strings,
None by value, other objects by identity, functions by their code and what they close over.
"""

import abc
import dataclasses
import enum
import functools
import inspect
import itertools
import types
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import jax
import numpy as np

from stratax.base import pytrees
from stratax.core import regions, storage

# RaggedTensors that a pipeline made before JAX was there may be arguments.
pytrees.tell_jax()
_NUMBERS_AND_TEXT = frozenset([bool, int, str, bytes])
_BY_VALUE = (bool, int, str, bytes, type(None), enum.Enum, np.dtype, type, range, slice)
# What a function captures of these is a part of its key, unless there is much of it.
_CONTAINERS = frozenset([dict, list, set, tuple])
_MAX_HELD = 1000
_ARRAYS = (jax.Array, np.ndarray, np.generic)


class IdentityKey:
    """Identity of an object as a key; holds the object so that its id is not used again."""

    __slots__ = ("target",)

    def __init__(self, target: object) -> None:
        self.target = target

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IdentityKey) and other.target is self.target

    def __hash__(self) -> int:
        return id(self.target)


class Alias(abc.ABC):
    """An object that may be made anew every time it is asked for, and is the same as all with its identity."""

    @property
    @abc.abstractmethod
    def identity(self) -> Any:
        """What is the same in all objects that stand for one thing."""


@dataclasses.dataclass(frozen=True, slots=True)
class Arguments:
    """A call's arguments, sorted into what a program takes and what it was made for.

    Attributes:
        key: Identifies the program. Equal keys, equal programs.
        dynamic: The arrays, in order.
        streams: The streams and the datasets, in order.
        leaves: All leaves, in order.
        treedef: Their structure.
    """

    key: Hashable
    dynamic: list[Any]
    streams: list[Any]
    leaves: list[Any]
    treedef: Any

    def rebuild(self, dynamic: Sequence[Any]) -> Any:
        """Return the structure of arguments with other arrays in the positions of the dynamic ones."""
        arrays = iter(dynamic)
        leaves = [next(arrays) if isinstance(leaf, _ARRAYS) else leaf for leaf in self.leaves]
        return jax.tree.unflatten(self.treedef, leaves)


def sort_arguments(arguments: object) -> Arguments:
    """Sort a structure of arguments."""
    # Streams, their sources and generators are leaves: none is a node of JAX' trees.
    leaves, treedef = jax.tree.flatten(arguments)
    parts: list[Hashable] = []
    dynamic: list[Any] = []
    streams: list[Any] = []
    for leaf in leaves:
        # By type, not by value: a program takes any array of this shape and dtype.
        if isinstance(leaf, _ARRAYS):
            # Of JAX' arrays as JAX itself keeps it: programs may be given other shapes. Weakly typed arrays promote
            # otherwise, so that they make another program.
            kind = getattr(leaf, "aval", leaf)
            parts.append((kind.shape, kind.dtype, getattr(kind, "weak_type", False)))
            dynamic.append(leaf)
        elif type(leaf) in _NUMBERS_AND_TEXT:
            parts.append((type(leaf), leaf))
        elif isinstance(leaf, regions.Stream):
            # A stream is known by what its elements are like; its elements are checked when the program runs.
            parts.append(leaf.signature)
            streams.append(leaf)
        elif isinstance(leaf, regions.StreamSource):
            parts.append(leaf.stream_signature)
            streams.append(leaf)
        else:
            parts.append(static_key(leaf))
    return Arguments((treedef, tuple(parts)), dynamic, streams, leaves, treedef)


def static_key(value: object, seen: dict[int, int] | None = None) -> Hashable:
    """Return a key for a value that a program is specialised on.

    Args:
        value: The value.
        seen: The functions whose keys the key already has, by their place in it.
    """
    if isinstance(value, _BY_VALUE):
        return (type(value), value) if not isinstance(value, slice) else (slice, repr(value))
    if isinstance(value, (float, complex)):
        return (type(value), repr(value))  # 0.0 == -0.0, and nan != nan.
    if isinstance(value, Alias):
        return IdentityKey(value.identity)
    seen = {} if seen is None else seen
    if isinstance(value, types.FunctionType):
        # Functions may read themselves and one another.
        if id(value) in seen:
            return ("seen", seen[id(value)])
        seen[id(value)] = len(seen)
        return _function_key(value, seen)
    if isinstance(value, types.MethodType):
        # Every access makes a new bound method; what it is made of stays the same.
        function = static_key(value.__func__, seen)
        return (IdentityKey(value.__self__), function, _attributes_key(value, seen))
    if isinstance(value, functools.partial):
        parts = (value.func, *value.args, *value.keywords.values())
        return (functools.partial, tuple(value.keywords), *(static_key(part, seen) for part in parts))
    # All else by identity: equal objects may change and become different.
    return IdentityKey(value)


def closure_key(function: Callable[..., Any]) -> Hashable:
    """Return a key for what a function closes over, empty for one that closes over nothing."""
    cells = getattr(inspect.unwrap(function), "__closure__", None)
    seen: dict[int, int] = {}
    return tuple(_cell_key(cell, seen) for cell in cells) if cells else ()


def _function_key(function: types.FunctionType, seen: dict[int, int]) -> Hashable:
    # Loops of their own for what is mostly empty: this is done in each call.
    is_users = storage.is_users(function)
    parts: list[Hashable] = []
    for cell in function.__closure__ or ():
        parts.append(_cell_key(cell, seen, function if is_users else None))
    for default in function.__defaults__ or ():
        parts.append(static_key(default, seen))
    for name, default in (function.__kwdefaults__ or {}).items():
        parts.append((name, static_key(default, seen)))
    # A lambda in a loop is a new function each time, but with the same code and, often, the same cells.
    return (function.__code__, tuple(parts), _globals_key(function, seen) if is_users else ())


def _globals_key(function: types.FunctionType, seen: dict[int, int]) -> Hashable:
    """Return a key for what a function of the user's reads of its module: a library does not rebind its names."""
    names = storage.globals_read(function.__code__)
    if not names:
        return ()
    around = function.__globals__
    return tuple(
        [_make_captured_key(around[name], seen, function) if name in around else None for name in names]
    )


def _attributes_key(method: types.MethodType, seen: dict[int, int]) -> Hashable:
    """Return a key for what a method reads of its object, likewise: rebound like a name, it is another value."""
    function, attributes = method.__func__, getattr(method.__self__, "__dict__", None)
    if not isinstance(function, types.FunctionType) or not attributes or not storage.is_users(function):
        return ()
    names = storage.attributes_read(function.__code__)
    return tuple(
        _make_captured_key(attributes[name], seen, function) if name in attributes else None for name in names
    )


def _make_captured_key(value: object, seen: dict[int, int], function: types.FunctionType) -> Hashable:
    """Return a key for what a function captures: of lists and dictionaries, and of objects' attributes, what they hold.

    A function that changes containers itself captures them as they are: its key would be another one at each call.

    Args:
        value: The value.
        seen: As for :func:`static_key`.
        function: The function, of the user's program.
    """
    if storage.changes_containers(function.__code__):
        return static_key(value, seen)
    if type(value) in _CONTAINERS:
        return _contents_key(value, seen, [_MAX_HELD])
    is_code = isinstance(value, types.FunctionType | types.ModuleType | type)
    held = None if is_code else getattr(value, "__dict__", None)
    if not held:
        return static_key(value, seen)
    parts: list[Hashable] = [static_key(value, seen)]
    for name in storage.attributes_read(function.__code__):
        part = held.get(name)
        # Of all else that an object holds, its methods and arrays say how it changes.
        parts.append(_contents_key(part, seen, [_MAX_HELD]) if _is_plain(part) else None)
    return tuple(parts)


def _is_plain(value: object) -> bool:
    return isinstance(value, (*_BY_VALUE, float, complex)) or type(value) in _CONTAINERS


def _contents_key(value: Any, seen: dict[int, int], left: list[int]) -> Hashable:
    """Return a key for what a container holds; one that is large, or holds itself, is known by its identity."""
    kind: Any = type(value)
    if kind not in _CONTAINERS:
        return static_key(value, seen)
    left[0] -= len(value) + 1
    if id(value) in seen or left[0] < 0:
        return IdentityKey(value)
    if kind is tuple:
        return (tuple, *(_contents_key(part, seen, left) for part in value))
    seen[id(value)] = len(seen)
    parts = itertools.chain.from_iterable(value.items()) if kind is dict else value
    keys = (_contents_key(part, seen, left) for part in parts)
    return (kind, IdentityKey(value), frozenset(keys) if kind is set else tuple(keys))


def _cell_key(
    cell: types.CellType, seen: dict[int, int], function: types.FunctionType | None = None
) -> Hashable:
    try:
        value = cell.cell_contents
        return static_key(value, seen) if function is None else _make_captured_key(value, seen, function)
    except ValueError:  # The cell is still empty: a local function that is defined later.
        return "empty"


def describe(leaf: object) -> str:
    """Describe a leaf in an error message or warning: arrays by type, everything else by value."""
    if isinstance(leaf, _ARRAYS):
        weak = "weakly typed " if getattr(leaf, "weak_type", False) else ""
        return f"{weak}{plain_dtype(leaf.dtype).name}[{','.join(map(str, leaf.shape))}]"
    return getattr(type(leaf), "stratax_description", None) or repr(leaf)


def plain_dtype(dtype: Any) -> Any:
    """Return NumPy's dtype, or JAX' own of the keys of `jax.random`, which NumPy has none for."""
    return dtype if jax.dtypes.issubdtype(dtype, jax.dtypes.extended) else np.dtype(dtype)
