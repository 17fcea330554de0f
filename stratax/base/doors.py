"""Doors of packages: names that stand in a stub and are imported when they are first used (lowest layer).

A door is a module and the stub (`.pyi`) beside it; below `stratax.tf`, the stub alone. The stub is a table with one
line for each name, which says where the name is made; type checkers read the same lines. It may hold a docstring, these
forms and no others::

    from . import config as config          a module of this package
    from ._capture import Region as Region  a name that a module of this package, or another door, makes
    from stratax.image import *             all names of another door of Stratax
    del saturate_cast                       but for this one
    from keras import *                     all names of a library that are none of the door's own; not in `__all__`
    import keras as keras                   a library
    load = stratax.image.decode_image       a name that is another one there; needs an `import stratax.image`
"""

import functools
import importlib
import os
import re
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from stratax.base.shown import shown

_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_LINE = re.compile(
    r"^from (?P<source>[\w.]+) import \(?\s*(?:(?P<all>\*)|(?P<name>\w+) as \w+)"
    r"|^import (?P<library>\w+) as \w+"
    r"|^del (?P<without>\w+)"
    r"|^(?P<renamed>\w+) = \(?\s*(?P<module>[\w.]+)\.(?P<attribute>\w+)",
    re.MULTILINE,
)


# How alike two names are, from 0 to 1, for one to be a likely misspelling of the other: `squeze` and `squeeze` are
# 0.92, `summary` and `square` 0.62.
_LEAST_LIKENESS = 0.75
_NUM_MEANT = 2


class NameOrigin(NamedTuple):
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

            from stratax.base import doors as _doors

            __getattr__, __dir__, __all__ = _doors.attach(__name__, __file__)
    """
    table, libraries = read_table(door, file), read_libraries(file)
    names = sorted(table)

    def __getattr__(name: str) -> Any:
        if name not in table:
            # Python and its tools ask every module for reserved names, and `from door import name` does at each call:
            # nothing is imported, read or shown for those.
            is_reserved = name.startswith("__") and name != "__version__"
            for library in libraries if not is_reserved else sys.modules.keys() & libraries:
                found = importlib.import_module(library)
                # Not kept: a library's name may come to mean something else.
                if hasattr(found, name):
                    return getattr(found, name)
            if is_reserved:
                raise AttributeError(f"module '{door}' has no attribute '{name}'", name=name)
            raise _no_attribute(door, name, names) if missing is None else missing(name)
        origin = table[name]
        # As `from module import name` does it, which also finds a module below a package.
        module = __import__(origin.module, fromlist=[origin.attribute or "__name__"])
        # Imported at the first use: `import stratax` stays quick, and the stub is the only list of names.
        value = getattr(module, origin.attribute) if origin.attribute else module
        if isinstance(value, type):
            _places.show(value, origin)
        # Found without this function from now on.
        vars(sys.modules[door])[name] = value
        return value

    def __dir__() -> list[str]:
        others = [name for library in libraries for name in dir(importlib.import_module(library))]
        return sorted({*names, *others})

    # A copy: `__all__` may be changed by who gets it.
    return __getattr__, __dir__, names.copy()


class _Places:
    """Has classes say that they are made where users find them, as NumPy's do, and not in a module of a room."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # Doors of which nothing was read yet: nobody has asked for a class since they were named.
        self._named: list[str] = []
        self._open: set[str] = set()
        self._doors: dict[NameOrigin, str] = {}

    def open(self, *doors: str) -> None:
        """Have classes show doors that users take them from: these, and those that they name; the first that has it."""
        with self._lock:
            self._named += doors

    def show(self, cls: type, origin: NameOrigin) -> None:
        """Have a class that a door has found show the door that users take it from, if there is one."""
        # What Keras has saved it looks for in the `__dict__` of a module, where a door has only what was used.
        if not _is_own(cls.__module__) or hasattr(cls, "get_config"):
            return
        with self._lock:
            self._read_named()
            found = self._doors.get(NameOrigin(cls.__module__, cls.__qualname__))
            if found is None and cls.__qualname__ == origin.attribute:
                found = self._doors.get(_find_made(origin))
            if found is not None and cls.__module__ not in self._open:
                cls.__module__ = found

    def _read_named(self) -> None:
        # Doors that a door names come behind all others.
        for door in self._named:
            if door in self._open:
                continue
            self._open.add(door)
            for name, origin in sorted(_find_table(door).items()):
                if origin == NameOrigin(f"{door}.{name}", ""):
                    self._named.append(origin.module)
                elif _is_own(origin.module) and (made := _find_made(origin)).attribute == name:
                    # By another name it could not be pickled.
                    self._doors.setdefault(made, door)
        self._named.clear()


_places = _Places()
open_to_users = _places.open


def _no_attribute(door: str, name: str, names: list[str]) -> AttributeError:
    said = f"module {shown(door)} has no attribute {shown(name)}"
    meant = [] if name.startswith("_") else _find_meant(door, name, names)
    if meant:
        said = f"{said}. Did you mean {' or '.join(meant)}?"
    return AttributeError(said, name=name)


def _find_meant(door: str, name: str, names: list[str]) -> list[str]:
    """Return the paths of what has just this name in a door for users, and of what is most like it in its own."""
    import difflib

    root = os.path.basename(_ROOT)
    topics = read_table(root, os.path.join(_ROOT, "__init__.pyi"))
    tables = {
        each: read_table(each, stub) for each, stub in _stubs(_ROOT, root) if each[len(root) + 1 :] in topics
    }
    elsewhere = sorted(f"{each}.{name}" for each, table in tables.items() if name in table)
    close = difflib.get_close_matches(name, names, _NUM_MEANT, _LEAST_LIKENESS)
    return [*elsewhere, *(f"{door}.{near}" for near in close)][:_NUM_MEANT]


def read_table(door: str, file: str) -> dict[str, NameOrigin]:
    """Return where the names of a door are made.

    Args:
        door: The module's name.
        file: Its file, or the stub beside it.
    """
    stem = os.path.splitext(file)[0]
    package = door if os.path.basename(stem) == "__init__" else door.rpartition(".")[0]
    return parse_table(package, _text(stem))


def read_libraries(file: str) -> list[str]:
    """Return the libraries whose names a door has besides its own.

    Args:
        file: The door's file, or the stub beside it.
    """
    lines = _LINE.finditer(_text(os.path.splitext(file)[0]))
    return [line["source"] for line in lines if line["all"] and not _is_own(line["source"])]


def _text(stem: str) -> str:
    with open(f"{stem}.pyi", encoding="utf-8") as stub:
        return stub.read()


def _is_own(module: str) -> bool:
    return module.split(".")[0] == os.path.basename(_ROOT)


def parse_table(package: str, text: str) -> dict[str, NameOrigin]:
    """Return where the names of a stub are made.

    Args:
        package: What `.` stands for in it.
        text: The stub.
    """
    table: dict[str, NameOrigin] = {}
    for line in _LINE.finditer(text):
        if name := line["name"]:
            table[name] = _origin(package, line["source"], name)
        elif line["renamed"]:
            table[line["renamed"]] = NameOrigin(line["module"], line["attribute"])
        elif line["all"]:
            table |= _table_of(line["source"]) if _is_own(line["source"]) else {}
        elif line["library"]:
            table[line["library"]] = NameOrigin(line["library"], "")
        else:
            del table[line["without"]]
    return table


def _origin(package: str, source: str, name: str) -> NameOrigin:
    if source == ".":
        return NameOrigin(f"{package}.{name}", "")
    return NameOrigin(f"{package}{source}" if source.startswith(".") else source, name)


def read_tables(package: str) -> dict[str, dict[str, NameOrigin]]:
    """Return the tables of all doors of a package of Stratax, which are not imported for that.

    Args:
        package: The package's name.
    """
    tables = {door: read_table(door, stub) for door, stub in _stubs(_folder(package), package)}
    return dict(sorted(tables.items()))


def _stubs(folder: str, module: str) -> Iterator[tuple[str, str]]:
    for entry in os.scandir(folder):
        stem, suffix = os.path.splitext(entry.name)
        # Private packages have no door.
        if entry.is_dir() and not stem.startswith("_"):
            yield from _stubs(entry.path, f"{module}.{stem}")
        elif suffix == ".pyi":
            yield module if stem == "__init__" else f"{module}.{stem}", entry.path


def _table_of(door: str) -> dict[str, NameOrigin]:
    path = _folder(door)
    return read_table(door, os.path.join(path, "__init__.pyi") if os.path.isdir(path) else f"{path}.pyi")


@functools.cache
def _find_table(module: str) -> dict[str, NameOrigin]:
    """Return the table of a module; an empty one if it is no door."""
    try:
        return _table_of(module)
    except FileNotFoundError:
        return {}


def _find_made(origin: NameOrigin) -> NameOrigin:
    while (further := _find_table(origin.module).get(origin.attribute)) is not None:
        origin = further
    return origin


def _folder(module: str) -> str:
    return os.path.join(_ROOT, *module.split(".")[1:])
