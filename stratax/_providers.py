"""Modules that serve packages below them: imported by name when what they register is first needed (lowest layer).

A package knows none above it. What one above adds to it, such as a format of files, is registered by a module there;
`stratax` itself, which stands above all, says which module that is.
"""

import importlib

_modules: dict[str, list[str]] = {}


def provide(purpose: str, module: str) -> None:
    """Say which module registers what a package asks for.

    Args:
        purpose: What it is for.
        module: The module's name; importing it registers.
    """
    _modules.setdefault(purpose, []).append(module)


def import_providers(purpose: str) -> None:
    """Import the modules that register what is needed now; those that are imported already stay as they are.

    Args:
        purpose: What for.
    """
    for module in _modules.get(purpose, ()):
        importlib.import_module(module)
