"""Which modules of its own a program imports, read from their text (tf layer)."""

import ast
import pathlib
from collections.abc import Iterable, Iterator

# What a file imports: how many folders up, and the module's parts.
_Import = tuple[int, tuple[str, ...]]


class OwnModules:
    """Finds the files of programs: their own, and those beside them that they import, and that these import.

    Installed packages are none of them. A file is read once, however many programs import it.
    """

    def __init__(self) -> None:
        self._imports: dict[pathlib.Path, list[_Import]] = {}

    def find(self, program: pathlib.Path) -> list[pathlib.Path]:
        """Return the files of a program, its own first.

        Args:
            program: The file that is run.
        """
        found = {program: None}
        waiting, roots = [program], _roots(program)
        while waiting:
            for module in self._modules_of(waiting.pop(), roots):
                if module not in found:
                    found[module] = None
                    waiting.append(module)
        return list(found)

    def _modules_of(self, file: pathlib.Path, roots: list[pathlib.Path]) -> Iterator[pathlib.Path]:
        if file not in self._imports:
            self._imports[file] = list(_read_imports(file))
        for level, names in self._imports[file]:
            places = [file.parents[level - 1]] if 0 < level <= len(file.parents) else roots
            yield from _files(names, places)


def _roots(program: pathlib.Path) -> list[pathlib.Path]:
    """Return the folders in which Python looks for a program's modules, run by its file or by its name."""
    folder = program.parent
    while (folder / "__init__.py").is_file() and folder.parent != folder:
        folder = folder.parent
    return [program.parent] if folder == program.parent else [program.parent, folder]


def _read_imports(file: pathlib.Path) -> Iterator[_Import]:
    try:
        tree = ast.parse(file.read_text("utf-8", errors="replace"))
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield 0, tuple(alias.name.split("."))
        elif isinstance(node, ast.ImportFrom):
            names = tuple((node.module or "").split(".")) if node.module else ()
            for alias in node.names:
                # A name may be a module of the package.
                yield node.level, (*names, alias.name)


def _files(names: tuple[str, ...], roots: Iterable[pathlib.Path]) -> Iterator[pathlib.Path]:
    """Find a module, and the packages that it lies in."""
    for root in roots:
        for length in range(1, len(names) + 1):
            path = root.joinpath(*names[:length])
            found = [file for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file()]
            yield from found
            if not found and not path.is_dir():
                break
