"""Doors of packages: names that stand in a stub and are imported when they are first used (lowest layer).

A door is a module and the stub (`.pyi`) beside it. The stub is a table with one line for each name, which says where
the name is made; type checkers read the same lines. It may hold these forms and no others::

    from . import config as config          a module of this package
    from ._capture import Region as Region  a name, here (behind `as`) perhaps another one than there
    from stratax.image import *             all names of another door of Stratax
    del saturate_cast                       but for this one
    import keras as keras                   a library
"""

import importlib
import os
import re
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

from stratax._shown import shown

_ROOT = os.path.dirname(os.path.abspath(__file__))
_LINE = re.compile(
    r"^from (?P<source>[\w.]+) import \(?\s*(?:(?P<all>\*)|(?P<name>\w+) as (?P<alias>\w+))"
    r"|^import (?P<library>[\w.]+) as (?P<as>\w+)"
    r"|^del (?P<without>\w+)",
    re.MULTILINE,
)


class Origin(NamedTuple):
    """Where a name is made: an attribute of a module, or, where that is empty, the module itself."""

    module: str
    attribute: str


Attached = tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]


def attach(door: str, file: str, missing: Callable[[str], AttributeError] | None = None) -> Attached:
    """Make a module a door.

    Args:
        door: The module's `__name__`.
        file: Its `__file__`, beside which the stub stands.
        missing: Makes the error for a name that the door does not have.

    Returns:
        The module's `__getattr__`, `__dir__` and `__all__`.

    Example:
        A module of three lines::

            from stratax import _doors

            __getattr__, __dir__, __all__ = _doors.attach(__name__, __file__)
    """
    table = read_table(door, file)
    names = sorted(table)

    def __getattr__(name: str) -> Any:
        if name not in table:
            raise _no_attribute(door, name) if missing is None else missing(name)
        origin = table[name]
        module = importlib.import_module(origin.module)
        value = getattr(module, origin.attribute) if origin.attribute else module
        # Found without this function from now on.
        vars(sys.modules[door])[name] = value
        return value

    return __getattr__, names.copy, names.copy()


def _no_attribute(door: str, name: str) -> AttributeError:
    return AttributeError(f"module {shown(door)} has no attribute {shown(name)}", name=name)


def read_table(door: str, file: str) -> dict[str, Origin]:
    """Return where the names of a door are made.

    Args:
        door: The module's name.
        file: Its file, or the stub beside it.
    """
    stem = os.path.splitext(file)[0]
    package = door if os.path.basename(stem) == "__init__" else door.rpartition(".")[0]
    with open(f"{stem}.pyi", encoding="utf-8") as stub:
        return parse_table(package, stub.read())


def parse_table(package: str, text: str) -> dict[str, Origin]:
    """Return where the names of a stub are made.

    Args:
        package: What `.` stands for in it.
        text: The stub.
    """
    table: dict[str, Origin] = {}
    for line in _LINE.finditer(text):
        if line["without"]:
            del table[line["without"]]
        elif line["library"]:
            table[line["as"]] = Origin(line["library"], "")
        elif line["all"]:
            table |= _table_of(line["source"])
        elif line["source"] == ".":
            table[line["alias"]] = Origin(f"{package}.{line['name']}", "")
        else:
            source = f"{package}{line['source']}" if line["source"].startswith(".") else line["source"]
            table[line["alias"]] = Origin(source, line["name"])
    return table


def _table_of(door: str) -> dict[str, Origin]:
    """The table of another door, which is not imported for that."""
    path = os.path.join(_ROOT, *door.split(".")[1:])
    return read_table(door, os.path.join(path, "__init__.pyi") if os.path.isdir(path) else f"{path}.pyi")
