"""Modules of `stratax.tf` that are a stub and nothing else (tf layer).

All that such a module has stands in its stub: its docstring, its names and where each is made. Python's own search for
files finds the stub where there is no `.py`, and what loads it makes a door of the module.
"""

import importlib.machinery as machinery
import os
import re
import sys
import types
from importlib.abc import PathEntryFinder

from stratax.base import doors
from stratax.tf import _names

_FOLDER = os.path.dirname(os.path.abspath(__file__))
_DOCSTRING = re.compile('"""(.*?)"""', re.DOTALL)


class _Loader(machinery.SourceFileLoader):
    """Makes a door of a module, with the stub as its text."""

    def exec_module(self, module: types.ModuleType) -> None:
        """Give the module the stub's docstring and names."""
        docstring = _DOCSTRING.match(self.get_source(module.__name__) or "")
        module.__doc__ = docstring and docstring[1]
        # What stands in for TensorFlow's own private modules has nothing to suggest.
        attach = doors.attach if "._" in module.__name__ else _names.attach
        names = ("__getattr__", "__dir__", "__all__")
        vars(module).update(zip(names, attach(module.__name__, self.path), strict=True))


_find_in = machinery.FileFinder.path_hook(
    # As Python's own: a module beside a stub is loaded as everywhere.
    (machinery.ExtensionFileLoader, machinery.EXTENSION_SUFFIXES),
    (machinery.SourceFileLoader, machinery.SOURCE_SUFFIXES),
    (machinery.SourcelessFileLoader, machinery.BYTECODE_SUFFIXES),
    (_Loader, [".pyi"]),
)


def _find_below(path: str) -> PathEntryFinder:
    if not f"{path}{os.sep}".startswith(f"{_FOLDER}{os.sep}"):
        raise ImportError("This is no folder of `stratax.tf`.", path=path)
    return _find_in(path)


def install() -> None:
    """Have Python find stubs in the folders of `stratax.tf`; safe to call again."""
    if _find_below not in sys.path_hooks:
        sys.path_hooks.insert(0, _find_below)
        # Made before, by Python's own search.
        sys.path_importer_cache.pop(_FOLDER, None)
