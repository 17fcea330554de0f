"""`tf` is TensorFlow 1's in programs that were written for it, told by the names that they ask for (tf layer).

`import tensorflow as tf` says nothing of the version, and some functions mean something else in each: the second
argument of `tf.nn.dropout` is the chance to stay or the chance to go. A program that asks for a name which TensorFlow 2
does not have was written for TensorFlow 1, where `tf` is what `tf.compat.v1` is in TensorFlow 2, with the sizes of
shapes as `Dimension`s. A program for both only tries whether there is such a name, by `hasattr` or in a `try`; it goes
on with TensorFlow 2's, whose version it is told.
"""

import ast
import functools
import importlib
import linecache
import sys
import types
from collections.abc import Callable, Mapping
from types import FrameType
from typing import Any

# One of these stands in front of every model. `contrib` is none: programs for both look whether it is there.
_OF_THE_FIRST = frozenset(
    {
        "AUTO_REUSE",
        "ConfigProto",
        "GraphKeys",
        "Session",
        "app",
        "flags",
        "get_collection",
        "get_variable",
        "gfile",
        "layers",
        "logging",
        "placeholder",
        "python_io",
        "to_float",
        "trainable_variables",
        "variable_scope",
    }
)
_OWN, _FIRST = "stratax.tf", "stratax.tf.compat.v1"
# Where each name of a module is made.
_Table = Mapping[str, object]


def telling(find: Callable[[str], Any]) -> Callable[[str], Any]:
    """Return a function that finds the names of `tf`, for programs of either generation.

    Args:
        find: Finds a name of TensorFlow 2's.
    """
    changed: set[str] = set()

    def find_of_either(name: str) -> Any:
        if name in changed:
            found = getattr(importlib.import_module(_FIRST), name)
            # Found without this function from now on.
            vars(sys.modules[_OWN])[name] = found
            return found
        if not changed and _is_tensorflow():
            frame = _find_program(sys._getframe(1))
            if name in _OF_THE_FIRST and _is_tried(frame, name):
                # Asked for again, perhaps in earnest: not kept beside the function that finds it.
                found = find(name)
                vars(sys.modules[_OWN]).pop(name, None)
                return found
            if name in _OF_THE_FIRST or (frame is not None and _has_sessions(frame.f_code.co_filename)):
                changed.update(_become_the_first())
                if frame is not None:
                    from stratax.tensorflow.v1.programs import begin_graph

                    begin_graph(frame)
                # Asked for by such a program first.
                return find_of_either(name)
        return find(name)

    return find_of_either


def is_of_the_first(source: str) -> bool:
    """Return whether the text of a program asks `tensorflow` for a name of TensorFlow 1 in earnest.

    Args:
        source: The program.
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return False
    known = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
        if alias.name == "tensorflow"
    }
    asked = [
        (node.lineno, node.attr)
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and node.attr in _OF_THE_FIRST
        and isinstance(node.value, ast.Name)
        and node.value.id in known
    ]
    trials = _trials(source) if asked else []
    # What stands behind `hasattr` is run only where there is such a name.
    looked_for = {tried for _, _, tried in trials}
    return any(
        name not in looked_for
        and not any(first <= line <= last for first, last, tried in trials if tried is None)
        for line, name in asked
    )


@functools.lru_cache(maxsize=256)
def _has_sessions(file: str) -> bool:
    """Return whether a program runs sessions of TensorFlow 1, whatever it asks for first."""
    from stratax.tensorflow.v1.programs import names_sessions

    source = "".join(linecache.getlines(file))
    # One that looks at the version may be for both.
    return names_sessions(source) and "__version__" not in source and is_of_the_first(source)


def _is_tensorflow() -> bool:
    return sys.modules.get("tensorflow") is sys.modules[_OWN]


def _is_tried(frame: FrameType | None, name: str) -> bool:
    """Return whether a program asks for a name only to see whether it is there."""
    if frame is None:
        return False
    source = "".join(linecache.getlines(frame.f_code.co_filename, frame.f_globals))
    return any(
        first <= frame.f_lineno <= last and asked in (None, name) for first, last, asked in _trials(source)
    )


def _find_program(frame: FrameType | None) -> FrameType | None:
    """Return the frame of whoever asks for a name."""
    while frame is not None and frame.f_code.co_filename.startswith("<frozen "):
        # Python's own import asks for what `from tensorflow import x` names.
        frame = frame.f_back
    return frame


@functools.lru_cache(maxsize=64)
def _trials(source: str) -> list[tuple[int, int, str | None]]:
    """Return the lines in which names are tried, and which: None for any, in a `try` that catches their absence."""
    from stratax.tf._reader import catches_missing

    try:
        tree = ast.parse(source)
    except SyntaxError:
        # Of a notebook's cell, with commands of its own: nothing is known.
        return []
    found: list[tuple[int, int, str | None]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Try) and any(catches_missing(handler.type) for handler in node.handlers):
            found.append((node.body[0].lineno, node.body[-1].end_lineno or node.body[-1].lineno, None))
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("hasattr", "getattr"):
            names = [each.value for each in node.args[1:2] if isinstance(each, ast.Constant)]
            found += [(node.lineno, node.end_lineno or node.lineno, str(each)) for each in names]
    return found


def _become_the_first() -> set[str]:
    """Have shapes be TensorFlow 1's, and return the names that mean something else there."""
    from stratax.base import doors
    from stratax.data.elements import use_dimensions

    use_dimensions(True)
    tables = doors.read_tables(_OWN)
    own, first = tables[_OWN], tables[_FIRST]
    changed = {name for name, origin in first.items() if own.get(name, origin) != origin}
    for name in changed:
        # What was asked for already is kept beside the function that finds it.
        vars(sys.modules[_OWN]).pop(name, None)
        place = f"{_OWN}.{name}"
        if place in sys.modules and place in tables and f"{_FIRST}.{name}" in tables:
            _follow_the_first(sys.modules[place], tables[place], tables[f"{_FIRST}.{name}"])
    return changed


def _follow_the_first(module: types.ModuleType, own: _Table, first: _Table) -> None:
    """Have a module that a program holds already give TensorFlow 1's names, which it asks for from now on.

    Args:
        module: The module.
        own: Where each of its names is made.
        first: The same of TensorFlow 1's module.
    """
    changed = {name for name, origin in first.items() if own.get(name) != origin}
    place = module.__name__.replace(_OWN, _FIRST, 1)
    find = module.__getattr__
    for name in changed:
        vars(module).pop(name, None)

    def find_of_the_first(name: str) -> Any:
        return getattr(importlib.import_module(place), name) if name in changed else find(name)

    vars(module)["__getattr__"] = find_of_the_first
