"""The tables of `stratax.tf`, and what its modules say about a name of TensorFlow's that they don't have (tf layer).

A module's names stand in the stub beside it, each once, with where it is made: everything else that lists names
(`__all__`, `dir`, the suggestions of errors, the tables of `docs/compatibility.md`) is read from there.
"""

import functools

from stratax import _doors
from stratax._shown import shown

_ROOT = "stratax.tf"
_NUM_SUGGESTIONS = 3
# How alike two names are, from 0 to 1, for one to be a likely misspelling of the other: `squeze` and `squeeze` are
# 0.92, `summary` and `square` 0.62.
_LEAST_LIKENESS = 0.75


def attach(module: str, file: str) -> _doors.Attached:
    """Make a module of `tf` a door whose error for a missing name says which are near.

    Args:
        module: The module's `__name__`.
        file: Its `__file__`, beside which the stub with its names stands.

    Returns:
        Its `__getattr__`, `__dir__` and `__all__`.
    """
    return _doors.attach(module, file, functools.partial(_missing, module))


def _missing(module: str, name: str) -> AttributeError:
    # Private names are asked for by Python itself, before it imports a submodule of that name.
    if name.startswith("_"):
        return AttributeError(f"module {shown(module)} has no attribute {shown(name)}", name=name)
    return AttributeError(
        f"{_tensorflow_name(module)} has no name {shown(name)} here. {_suggestion(module, name)}"
        "docs/compatibility.md tells which names of TensorFlow there are and what is different.",
        name=name,
    )


def _suggestion(module: str, name: str) -> str:
    import difflib

    tables = _doors.read_tables(_ROOT)
    elsewhere = [f"{place}.{name}" for place, names in tables.items() if name in names and place != module]
    close = difflib.get_close_matches(name, tables[module], _NUM_SUGGESTIONS, _LEAST_LIKENESS)
    found = [_tensorflow_name(path) for path in (*elsewhere, *(f"{module}.{near}" for near in close))]
    return f"Did you mean {' or '.join(found[:_NUM_SUGGESTIONS])}? " if found else ""


def _tensorflow_name(path: str) -> str:
    return "tf" + path.removeprefix(_ROOT)
