"""How modules of a program are read where it takes Stratax for TensorFlow (tf layer).

In one thing they are read otherwise than Python reads them: in `"text" % value`, a tensor's shape is one value.
"""

import ast
import functools
import importlib.abc
import importlib.machinery
import os
import re
import sys
import sysconfig
import types
from collections.abc import Sequence

# What is looked for before anything is read as a tree: few modules have it.
_FORMATS = re.compile(rb"""["']\s*%\s*[A-Za-z_(]""")


def install() -> None:
    """Let the modules that the program imports from now on be read so; safe to call again."""
    if any(isinstance(finder, _Finder) for finder in sys.meta_path):
        return
    files = next(
        (place for place, finder in enumerate(sys.meta_path) if finder is importlib.machinery.PathFinder),
        len(sys.meta_path),
    )
    sys.meta_path.insert(files, _Finder())


@functools.cache
def _folders_of_others() -> tuple[str, ...]:
    own = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    return own, *(sysconfig.get_path(name) for name in ("stdlib", "platstdlib"))


def _is_of_program(file: str) -> bool:
    folders = file.split(os.sep)
    if "site-packages" in folders or "dist-packages" in folders:
        return False
    return not file.startswith(_folders_of_others())


class _Finder(importlib.abc.MetaPathFinder):
    """Finds modules of the program where Python would, and has them read in its way."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return the spec of a file of the program, and None for all else."""
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is None or type(spec.loader) is not importlib.machinery.SourceFileLoader:
            return None
        if not _is_of_program(spec.loader.path):
            return None
        spec.loader = _Loader(fullname, spec.loader.path)
        return spec


class _Loader(importlib.machinery.SourceFileLoader):
    """Loads a module, rewritten if it has to be; what is rewritten is kept in no file."""

    def get_code(self, fullname: str) -> types.CodeType | None:
        """Return the module's code."""
        source = self.get_data(self.path)
        if b"shape" not in source or _FORMATS.search(source) is None:
            return super().get_code(fullname)
        try:
            tree = ast.parse(source)
        except (SyntaxError, ValueError):
            # Which Python's own way of reading says.
            return super().get_code(fullname)
        return compile(_rewrite(tree), self.path, "exec", dont_inherit=True)


def _rewrite(tree: ast.Module) -> ast.Module:
    from stratax.tensorflow.ops.text import formats

    formats.Formats(formats.FUNCTION).visit(tree)
    # Behind the docstring and what may only stand first.
    place = next((place for place, node in enumerate(tree.body) if not _is_first(node)), len(tree.body))
    function = ast.ImportFrom(formats.__name__, [ast.alias("format_text", formats.FUNCTION)], 0)
    tree.body.insert(place, function)
    return ast.fix_missing_locations(tree)


def _is_first(node: ast.stmt) -> bool:
    match node:
        case ast.ImportFrom(module="__future__") | ast.Expr(value=ast.Constant()):
            return True
    return False
