"""Modules that serve packages below them: imported by name when they are first needed (lowest layer).

A package knows none above it. What one above adds to it, such as a format of files, a module there registers or has;
`stratax` itself, which stands above all, says which module that is.
"""

import importlib
import types

_modules: dict[str, list[str]] = {}


def provide(purpose: str, module: str) -> None:
    """Say which module has, or registers, what a package asks for.

    Args:
        purpose: What it is for.
        module: The module's name.
    """
    _modules.setdefault(purpose, []).append(module)


def providers(purpose: str) -> list[types.ModuleType]:
    """Return the modules that give what is needed now, imported.

    Args:
        purpose: What for.
    """
    return [importlib.import_module(module) for module in _modules.get(purpose, ())]
