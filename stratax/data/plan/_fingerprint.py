"""A number that says what a plan computes: equal for plans that were made alike (data layer)."""

import dataclasses
import functools
import hashlib
import types
from typing import Any

import numpy as np

from stratax.data.plan._node import FOUND_OF_CHILDREN, Node, walk
from stratax.data.plan._order import Order

# What a node finds out of others, or of its arrays, once.
_KEPT = ("children", "_spec", "spec", *FOUND_OF_CHILDREN)
_CONSTANTS = (bool, int, float, complex, str, bytes, np.generic)


def fingerprint(node: Node) -> int:
    """Return a number of 64 bits for a plan: for its operations, their arguments, functions and arrays.

    It is the same in every process that runs the same version of Python, and says nothing of what files contain.
    """
    state = hashlib.sha256()
    for each in walk(node):
        _feed(state, each.describe(), set())
        for name, value in sorted(vars(each).items()):
            if name not in _KEPT:
                _feed(state, getattr(value, "_function", value), set())
    return int.from_bytes(state.digest()[:8], "little")


def _feed(state: Any, value: Any, seen: set[int]) -> None:
    """Add a value to a hash. What has no value of its own (locks, caches) counts as its class."""
    if id(value) in seen:
        return
    state.update(type(value).__qualname__.encode())
    if value is None or isinstance(value, (*_CONSTANTS, np.dtype)):
        state.update(repr(value).encode())
        return
    if isinstance(value, np.ndarray):
        state.update(f"{value.dtype}{value.shape}".encode())
        state.update(
            repr(value.tolist()).encode() if value.dtype.hasobject else np.ascontiguousarray(value).data
        )
        return
    for part in _parts(value):
        _feed(state, part, seen | {id(value)})


def _parts(value: object) -> list[Any]:
    if isinstance(value, list | tuple):
        return list(value)
    if isinstance(value, dict):
        return [part for pair in sorted(value.items(), key=lambda pair: repr(pair[0])) for part in pair]
    if isinstance(value, types.CodeType):
        # Without line numbers: the same function written twice is the same.
        return [value.co_code, value.co_names, value.co_varnames, value.co_consts]
    if isinstance(value, types.FunctionType):
        cells = [cell.cell_contents for cell in value.__closure__ or () if not _is_empty(cell)]
        named = [value.__globals__.get(name) for name in value.__code__.co_names]
        constants = [each for each in named if isinstance(each, _CONSTANTS)]
        return [value.__code__, value.__defaults__, value.__kwdefaults__, cells, constants]
    if isinstance(value, types.MethodType):
        return [value.__func__, value.__self__]
    if isinstance(value, type | types.BuiltinFunctionType):
        return [value.__module__, value.__qualname__]
    if isinstance(value, functools.partial):
        return [value.func, value.args, value.keywords]
    if isinstance(value, Order):
        return [value.given_seed, value.reshuffle]
    if isinstance(value, Node):
        return [fingerprint(value)]
    if dataclasses.is_dataclass(value):
        return [getattr(value, field.name) for field in dataclasses.fields(value)]
    return []


def _is_empty(cell: types.CellType) -> bool:
    try:
        return cell.cell_contents is None
    except ValueError:
        return True
