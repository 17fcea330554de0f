"""Which modules of its own a program imports, read from their text (tf layer)."""

import ast
import pathlib
from collections.abc import Iterator


def own_modules(program: pathlib.Path) -> list[pathlib.Path]:
    """Return the files of a program: its own, and those beside it that it imports, and that these import.

    Installed packages are none of them.

    Args:
        program: The file that is run.
    """
    found = {program: None}
    waiting = [program]
    while waiting:
        file = waiting.pop()
        for module in _find_imports(file, _roots(program)):
            if module not in found:
                found[module] = None
                waiting.append(module)
    return list(found)


def _roots(program: pathlib.Path) -> list[pathlib.Path]:
    """Return the folders in which Python looks for a program's modules, run by its file or by its name."""
    folder = program.parent
    roots = [folder]
    while (folder / "__init__.py").is_file() and folder.parent != folder:
        folder = folder.parent
    return roots if folder == roots[0] else [*roots, folder]


def _find_imports(file: pathlib.Path, roots: list[pathlib.Path]) -> Iterator[pathlib.Path]:
    try:
        tree = ast.parse(file.read_text("utf-8", errors="replace"))
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _files(alias.name.split("."), roots)
        elif isinstance(node, ast.ImportFrom):
            places = [file.parents[node.level - 1]] if 0 < node.level <= len(file.parents) else roots
            names = (node.module or "").split(".") if node.module else []
            yield from _files(names, places)
            for alias in node.names:
                yield from _files([*names, alias.name], places)


def _files(names: list[str], roots: list[pathlib.Path]) -> Iterator[pathlib.Path]:
    """Find a module, and the packages that it lies in."""
    for root in roots:
        for length in range(1, len(names) + 1):
            path = root.joinpath(*names[:length])
            for file in (path.with_suffix(".py"), path / "__init__.py"):
                if file.is_file():
                    yield file
