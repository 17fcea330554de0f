"""What a module of `stratax.tf` says about a name of TensorFlow's that it does not have (tf layer)."""

import ast
import contextlib
import difflib
import functools
import importlib.resources
from collections.abc import Callable, Iterator, Sequence
from importlib.resources.abc import Traversable
from typing import Any

from stratax._shown import shown

_ROOT = "stratax.tf"
_NUM_SUGGESTIONS = 3
_LEAST_LIKENESS = 0.75
"""How alike two names are, from 0 to 1, for one to be a likely misspelling of the other: `squeze` and `squeeze` are
0.92, `summary` and `square` 0.62."""


def missing_name(
    module: str, names: Sequence[str], load: Callable[[str], Any] | None = None
) -> Callable[[str], Any]:
    """Makes a module's `__getattr__`, which is called for names that the module does not have.

    Args:
        module: The module's `__name__`.
        names: Its `__all__`.
        load: Imports one of those names, where that is left to its first use.

    Returns:
        A function that raises an `AttributeError` naming what there is instead.
    """

    def __getattr__(name: str) -> Any:
        if load is not None and name in names:
            return load(name)
        # Private names are asked for by Python itself, before it imports a submodule of that name.
        if name.startswith("_"):
            raise AttributeError(f"module {shown(module)} has no attribute {shown(name)}", name=name)
        raise AttributeError(
            f"{_tensorflow_name(module)} has no name {shown(name)} here. {_suggestion(module, names, name)}"
            "docs/compatibility.md tells which names of TensorFlow there are and what is different.",
            name=name,
        )

    return __getattr__


def _suggestion(module: str, names: Sequence[str], name: str) -> str:
    elsewhere = [f"{place}.{name}" for place, members in _all_names() if name in members and place != module]
    close = difflib.get_close_matches(name, names, _NUM_SUGGESTIONS, _LEAST_LIKENESS)
    found = [_tensorflow_name(path) for path in (*elsewhere, *(f"{module}.{near}" for near in close))]
    return f"Did you mean {' or '.join(found[:_NUM_SUGGESTIONS])}? " if found else ""


def _tensorflow_name(path: str) -> str:
    return "tf" + path.removeprefix(_ROOT)


@functools.cache
def _all_names() -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Returns every public module of `stratax.tf` with its names.

    They are read from the sources: importing all modules, and with them Keras and Orbax, would take seconds for a
    `hasattr(tf, "Session")`.
    """
    found = []
    folder = importlib.resources.files(_ROOT)
    for path in sorted(_sources(folder, _ROOT)):
        names = _declared_names(path[1].read_text(encoding="utf-8"))
        found.append((path[0], names))
    return tuple(found)


def _sources(folder: Traversable, module: str) -> Iterator[tuple[str, Traversable]]:
    """The file that declares the names of each public module in a package: its stub, if it has one."""
    files = {entry.name: entry for entry in folder.iterdir()}
    yield module, files.get("__init__.pyi") or files["__init__.py"]
    for name, entry in files.items():
        stem, _, suffix = name.partition(".")
        if stem.startswith("_"):
            continue
        if entry.is_dir():
            yield from _sources(entry, f"{module}.{stem}")
        elif suffix == "py":
            yield f"{module}.{stem}", entry


def _declared_names(source: str) -> tuple[str, ...]:
    """The names in a source's `__all__`; in a stub without one, all that it imports."""
    body = ast.parse(source).body
    for statement in body:
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "__all__":
            with contextlib.suppress(ValueError):  # Computed from a stub.
                return tuple(ast.literal_eval(statement.value))
    imports = [statement for statement in body if isinstance(statement, ast.ImportFrom)]
    return tuple(alias.asname or alias.name for statement in imports for alias in statement.names)
