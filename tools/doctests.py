"""Runs the examples of classes where they are written: `pytest -p tools.doctests --doctest-modules stratax`.

Doors have public classes show another module as theirs (`stratax.base.doors`), and `doctest` passes over what a module
seems to have imported.
"""

import doctest
import inspect
import pathlib
import types
from typing import Any

_from_module: Any = doctest.DocTestFinder._from_module  # type: ignore[attr-defined]


def pytest_configure() -> None:
    """Let examples be found, before any is looked for."""
    doctest.DocTestFinder._from_module = _is_written_in  # type: ignore[attr-defined]


def pytest_ignore_collect(collection_path: pathlib.Path) -> bool | None:
    """Pass over what stands in for other libraries: it is imported under their names, and may need them."""
    return True if "_stand_in" in collection_path.parts else None


def _is_written_in(self: Any, module: types.ModuleType | None, found: Any) -> bool:
    if module is None or not inspect.isclass(found):
        return bool(_from_module(self, module, found))
    return module.__name__ == _place_of(found)


def _place_of(cls: type) -> str:
    """Return the module with the text of a class, which its methods know."""
    for value in vars(cls).values():
        if isinstance(value, types.FunctionType) and value.__qualname__.startswith(f"{cls.__qualname__}."):
            return value.__module__
    return cls.__module__
