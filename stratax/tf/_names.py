"""The tables of `stratax.tf`, and what its modules say about a name of TensorFlow's that they don't have (tf layer).

A module's names stand in the stub beside it, each once, with where it is made: everything else that lists names
(`__all__`, `dir`, the suggestions of errors, the tables of `docs/compatibility.md`) is read from there.
"""

import functools
import re
import sys

from stratax.base import doors
from stratax.base.shown import shown
from stratax.tf import _imports, _missing, _stubs

_ROOT = "stratax.tf"
_NUM_SUGGESTIONS = 3
_OTHERS = re.compile(r"\.(compat|contrib|backend)\b")
# How alike two names are, from 0 to 1, for one to be a likely misspelling of the other: `squeze` and `squeeze` are
# 0.92, `summary` and `square` 0.62.
_LEAST_LIKENESS = 0.75


def attach(module: str, file: str) -> doors.Attached:
    """Make a module of `tf` a door whose error for a missing name says which are near.

    Args:
        module: The module's `__name__`.
        file: Its `__file__`, beside which the stub with its names stands.

    Returns:
        Its `__getattr__`, `__dir__` and `__all__`.
    """
    _imports.install()
    # `from stratax.tf.nn import x` looks for a module x of a package only, and shows no error of `__getattr__`.
    vars(sys.modules[module]).setdefault("__path__", [])
    return doors.attach(module, file, functools.partial(_error, module))


def _error(module: str, name: str) -> AttributeError:
    # Private names are asked for by Python itself, before it imports a submodule of that name.
    if name.startswith("_"):
        return AttributeError(f"module {shown(module)} has no attribute {shown(name)}", name=name)
    return AttributeError(describe(module, name), name=name)


def describe(module: str, name: str, *, short: bool = False) -> str:
    """Return what is said about a name that is not there.

    Args:
        module: The module of `stratax.tf` that lacks it.
        name: The name.
        short: Whether to leave out where more is said.
    """
    place = _tensorflow_name(module)
    said = _missing.sentence(f"{place}.{name}") or (
        f"{place} has no name {shown(name)} here. {_suggestion(module, name)}".rstrip()
    )
    if short:
        return said
    return f"{said} docs/compatibility.md tells which names of TensorFlow there are and what is different."


def _suggestion(module: str, name: str) -> str:
    import difflib

    tables = doors.read_tables(_ROOT)
    places = [place for place, names in tables.items() if name in names and place != module]
    # What old programs and layers' authors use comes last.
    elsewhere = [
        f"{place}.{name}" for place in sorted(places, key=lambda place: _OTHERS.search(place) is not None)
    ]
    close = difflib.get_close_matches(name, tables[module], _NUM_SUGGESTIONS, _LEAST_LIKENESS)
    found = [_tensorflow_name(path) for path in (*elsewhere, *(f"{module}.{near}" for near in close))]
    return f"Did you mean {' or '.join(found[:_NUM_SUGGESTIONS])}? " if found else ""


def _tensorflow_name(path: str) -> str:
    return "tf" + path.removeprefix(_ROOT)


_imports.describe_missing_by(describe)
_stubs.attach_by(attach)
