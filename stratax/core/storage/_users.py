"""Which functions belong to the user's program, and what they read of the module around them (core layer)."""

import dis
import functools
import os
import pathlib
import sysconfig
import types
from collections.abc import Iterator
from typing import Any

_PATHS = {name: sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
# Looked for before the standard library, inside whose folder they lie.
_INSTALLED = ("site-packages", "dist-packages")
# Libraries that JAX traces as they are: their loops are not the user's.
_NEVER = ("keras", "jax", "jaxlib", "numpy", "stratax", "malt")


def is_users(function: types.FunctionType) -> bool:
    """Return whether a function that is called belongs to the user's program."""
    around = function.__globals__
    known = _is_users_module(function.__code__.co_filename, around.get("__name__") or "")
    return _uses_stratax(around) if known is None else known


@functools.lru_cache(maxsize=4096)
def _is_users_module(filename: str, module: str) -> bool | None:
    """Return whether functions of a module are the user's, if its file alone says so; None if what is in it does."""
    if module.partition(".")[0] in _NEVER or filename.startswith("<frozen"):
        return False
    parts = pathlib.Path(filename).parts
    if any(folder in parts for folder in _INSTALLED):
        return None
    standard = tuple(os.path.join(_PATHS[name], "") for name in ("stdlib", "platstdlib"))
    return not filename.startswith(standard)


def _uses_stratax(module: dict[str, Any]) -> bool:
    """Return whether an installed module imports Stratax: then its loops may be meant to be compiled."""
    # A list, as another thread may import into the module meanwhile.
    for value in list(module.values()):
        name = value.__name__ if isinstance(value, types.ModuleType) else getattr(value, "__module__", None)
        if isinstance(name, str) and name.partition(".")[0] == "stratax":
            return True
    return False


@functools.lru_cache(maxsize=4096)
def globals_read(code: types.CodeType) -> tuple[str, ...]:
    """Return the names that a function, or one inside it, reads of its module and does not set itself."""
    return _read(code, ("LOAD_GLOBAL", "LOAD_NAME"), "STORE_GLOBAL")


@functools.lru_cache(maxsize=4096)
def attributes_read(code: types.CodeType) -> tuple[str, ...]:
    """Return the names of attributes, of any object, that a function reads and does not set itself."""
    return _read(code, ("LOAD_ATTR", "LOAD_METHOD"), "STORE_ATTR")


@functools.lru_cache(maxsize=4096)
def changes_containers(code: types.CodeType) -> bool:
    """Return whether a function, or one inside it, changes what lists and dictionaries hold, or may do so."""
    names = {each.opname: each.argval for each in _instructions(code)}
    return "STORE_SUBSCR" in names or not _CHANGING.isdisjoint(attributes_read(code))


_CHANGING = frozenset(
    [
        *("add", "append", "appendleft", "clear", "discard", "extend", "insert", "pop", "popitem", "popleft"),
        *("remove", "reverse", "setdefault", "sort", "update"),
    ]
)


def _read(code: types.CodeType, loads: tuple[str, ...], store: str) -> tuple[str, ...]:
    instructions = list(_instructions(code))
    stored = {each.argval for each in instructions if each.opname == store}
    loaded = {each.argval: None for each in instructions if each.opname.startswith(loads)}
    return tuple(name for name in loaded if name not in stored)


def _instructions(code: types.CodeType) -> Iterator[dis.Instruction]:
    yield from dis.get_instructions(code)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _instructions(constant)
