"""Modules of `stratax.tf` that are a stub and nothing else (tf layer).

All that such a module has stands in its stub: its docstring, its names and where each is made.
"""

import importlib.util
import os
import re
import types
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec, SourceFileLoader

from stratax.base import doors

_DOCSTRING = re.compile('"""(.*?)"""', re.DOTALL)


def find_spec(name: str, path: Sequence[str] | None) -> ModuleSpec | None:
    """Return the spec of a module that is a stub, and None where there is a file of Python or neither.

    Args:
        name: The module's full name.
        path: The folders of the package that it is in.
    """
    last = name.rpartition(".")[2]
    for folder in path or ():
        package = os.path.join(folder, last)
        for stem, folders in ((package, None), (os.path.join(package, "__init__"), [package])):
            stub = f"{stem}.pyi"
            if os.path.isfile(stub) and not os.path.isfile(f"{stem}.py"):
                loader = _Loader(name, stub)
                return importlib.util.spec_from_file_location(
                    name, stub, loader=loader, submodule_search_locations=folders
                )
    return None


class _Attaching:
    """How modules become doors: what tells errors about missing names has it set."""

    attach: Callable[[str, str], doors.Attached]


def attach_by(function: Callable[[str, str], doors.Attached]) -> None:
    """Have a function make modules doors.

    Args:
        function: It takes the module's name and its file.
    """
    _Attaching.attach = staticmethod(function)


class _Loader(SourceFileLoader):
    """Makes a door of a module, with the stub as its text."""

    def exec_module(self, module: types.ModuleType) -> None:
        """Give the module the stub's docstring and names."""
        docstring = _DOCSTRING.match(self.get_source(module.__name__) or "")
        module.__doc__ = docstring and docstring[1]
        # What stands in for TensorFlow's own private modules has nothing to suggest.
        attach = doors.attach if "._" in module.__name__ else _Attaching.attach
        names = ("__getattr__", "__dir__", "__all__")
        vars(module).update(zip(names, attach(module.__name__, self.path), strict=True))
