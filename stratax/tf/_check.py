"""What a program for TensorFlow uses that Stratax does not have or does differently, read from its text (tf layer)."""

import ast
import dataclasses
import functools
import json
import pathlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from stratax.base.shown import shown
from stratax.errors import BadArgumentError
from stratax.tensorflow.v1.programs import names_sessions
from stratax.tf import _constants, _different, _extras, _generation, _modules, _reach, _reader, _settings

_Kind = Literal["missing", "uncalled", "different", "unreadable"]
_NOTEBOOK = ".ipynb"
# Copies that notebooks' servers keep, and installed packages.
_PASSED_OVER = frozenset({".ipynb_checkpoints", "site-packages", "node_modules", ".git"})


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """Something in a program that needs a look.

    Attributes:
        file: The program's file.
        cell: Of a notebook, the number of the cell among those with code, from 1; else None.
        line: The line in the file or cell, from 1.
        kind: "missing" if the program uses something that Stratax does not have or refuses, "uncalled" if it does so
            in a function that it does not call, "different" if it uses something that behaves differently,
            "unreadable" if it could not be read.
        name: What it uses, in full, such as `tf.lite` or `tf.nn.lrn(alpha=)`.
        message: What is said about it, with what to write instead.
    """

    file: str
    cell: int | None
    line: int
    kind: _Kind
    name: str
    message: str

    def place(self) -> str:
        """Return where it stands, as compilers write it."""
        cell = "" if self.cell is None else f"cell {self.cell}:"
        return f"{self.file}:{cell}{self.line}"


class _Text(NamedTuple):
    """A part of a program: a file, or the cell of a notebook of this number."""

    source: str
    cell: int | None


def check(paths: Sequence[str | pathlib.Path], arguments: str | None = None) -> list[Finding]:
    """Return what programs use that Stratax does not have, or does differently.

    Args:
        paths: Python files, notebooks, and folders of them. Of a file the modules beside it that it imports are read,
            too.
        arguments: What follows a file on the command line that it is meant for: what these leave out is not run.
            None for any command line.

    Returns:
        One finding for each line and name, in the files' order.

    Raises:
        BadArgumentError: If a path is not there, or a folder has no program.
    """
    own_modules, is_first = _modules.OwnModules(), functools.cache(_is_first)

    def check_path(path: pathlib.Path) -> Iterator[Finding]:
        for program in programs(path):
            own = [program] if program.suffix == _NOTEBOOK else own_modules.find(program)
            is_of_first = any(is_first(file) for file in own if file.suffix != _NOTEBOOK)
            if not path.is_file():
                # Of a folder each file is a program of its own, and what it has is there for the others.
                yield from _check_file(program, is_first=is_of_first)
                continue
            if path.suffix == _NOTEBOOK:
                yield from _check_file(program, is_first=is_of_first)
                continue
            trees = _parse_files(own)
            settings = {} if arguments is None else _settings.find_settings([*trees.values()], arguments)
            # Its module's name tells the file that is run from those that it imports.
            known = {each: {**settings, "__name__": "__main__" if each == program else ""} for each in own}
            parts = [_reach.ModuleParts(tree, known[each]) for each, tree in trees.items()]
            # A program that can't be read is told as such; nobody knows what it calls.
            called = _reach.find_called(parts) if program in trees else None
            for file in own:
                yield from _check_file(file, is_first=is_of_first, called=called, settings=known[file])

    return [finding for path in paths for finding in check_path(pathlib.Path(path))]


def _parse_files(files: Sequence[pathlib.Path]) -> dict[pathlib.Path, ast.Module]:
    """Return the trees of the files that can be read, in their order."""
    found = {}
    for file in files:
        try:
            found[file] = ast.parse(file.read_text("utf-8", errors="replace"))
        except (SyntaxError, ValueError):
            continue
    return found


def _is_first(file: pathlib.Path) -> bool:
    return _generation.is_of_the_first(file.read_text("utf-8", errors="replace"))


def programs(path: pathlib.Path) -> list[pathlib.Path]:
    """Return the programs of a path: the file itself, or the Python files and notebooks of a folder.

    Args:
        path: A file or a folder.

    Raises:
        BadArgumentError: If there is none.
    """
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise BadArgumentError(
            f"There is no such file. Expected: a Python file, a notebook or a folder. Received: {shown(str(path))}."
        )
    found = (*path.rglob("*.py"), *path.rglob(f"*{_NOTEBOOK}"))
    files = sorted(file for file in found if file.is_file() and not _PASSED_OVER & set(file.parts))
    if not files:
        raise BadArgumentError(
            "The folder has neither Python files nor notebooks. Expected: a folder of programs. Received: "
            f"{shown(str(path))}."
        )
    return files


def check_source(text: str, file: str = "<program>") -> list[Finding]:
    """Return what the text of a program uses that Stratax does not have, or does differently.

    Args:
        text: The program.
        file: What it is called in the findings.
    """
    return _check_texts([_Text(text, None)], file, is_first=_generation.is_of_the_first(text))


def _check_file(
    path: pathlib.Path,
    *,
    is_first: bool,
    called: _reach.Called | None = None,
    settings: Mapping[str, Any] | None = None,
) -> list[Finding]:
    text = path.read_text("utf-8", errors="replace")
    if path.suffix != _NOTEBOOK:
        return _check_texts(
            [_Text(text, None)], str(path), is_first=is_first, called=called, settings=settings
        )
    try:
        cells = list(_cells(json.loads(text)))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        message = f"This is no notebook that can be read: {error}."
        return [_unreadable(str(path), None, getattr(error, "lineno", 1), message)]
    is_first = any(_generation.is_of_the_first(cell.source) for cell in cells)
    return _check_texts(cells, str(path), is_first=is_first)


def _cells(notebook: dict[str, list[dict[str, str | list[str]]]]) -> Iterator[_Text]:
    codes = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for number, cell in enumerate(codes, 1):
        yield _Text(_without_commands("".join(cell["source"])), number)


def _without_commands(cell: str) -> str:
    """Return a cell with its commands to the shell and the notebook left empty."""
    if cell.lstrip().startswith("%%"):
        return ""
    lines = []
    for line in cell.splitlines():
        bare = line.lstrip()
        is_command = bare.startswith(("%", "!", "?")) or bare.endswith("?")
        lines.append(line[: len(line) - len(bare)] + "pass" if is_command else line)
    return "\n".join(lines)


def _check_texts(
    texts: Sequence[_Text],
    file: str,
    *,
    is_first: bool,
    called: _reach.Called | None = None,
    settings: Mapping[str, Any] | None = None,
) -> list[Finding]:
    """Return what the parts of a program use, of which a name of one is known in those that follow."""
    findings = []
    read: list[tuple[_Text, _reader.ProgramReader, _reach.ModuleParts]] = []
    space: dict[str, _reader.Meaning] = {}
    for text in texts:
        try:
            tree = ast.parse(text.source)
        except (SyntaxError, ValueError) as error:
            line = getattr(error, "lineno", None) or 1
            message = f"This is no Python 3 that can be read: {getattr(error, 'msg', error)}."
            findings.append(_unreadable(file, text.cell, line, message))
            continue
        # Another cell may set a name anew.
        constants = _constants.find_constants(tree) if len(texts) == 1 else {}
        constants = {**(settings or {}), **constants}
        reader = _reader.ProgramReader(space, is_first=is_first, constants=constants)
        reader.visit(tree)
        read.append((text, reader, _reach.ModuleParts(tree)))
    # In a program with sessions there is a graph from the beginning.
    has_graph = any(names_sessions(text.source) for text in texts)
    run = set() if has_graph else _run_by_program([reader for _, reader, _ in read])
    for text, reader, parts in read:
        told: set[tuple[int, str]] = set()
        for use in reader.uses:
            if (use.line, use.name) not in told and (judged := _judge(use, in_graph=use.function not in run)):
                told.add((use.line, use.name))
                kind, message = judged
                if kind == "missing" and called is not None and not parts.is_run(use.line, called):
                    kind = "uncalled"
                findings.append(
                    Finding(
                        file=file, cell=text.cell, line=use.line, kind=kind, name=use.name, message=message
                    )
                )
    return sorted(findings, key=lambda each: each.cell or 0)


def _run_by_program(readers: Sequence[_reader.ProgramReader]) -> set[str]:
    """Return the functions that a program calls itself, and "" for the program: no Estimator traces them."""
    found, new = set(), {""}
    while new:
        found |= new
        called = {name for reader in readers for function in new for name in reader.calls.get(function, ())}
        new = called - found
    return found


def _judge(use: _reader.Use, *, in_graph: bool) -> tuple[_Kind, str] | None:
    for name in (use.name, *use.others):
        if lacking := _extras.lacking(name):
            return "missing", lacking
        found = _different.find(name, in_graph=in_graph)
        if found is not None and (found.is_refused or use.complaint is None):
            return "missing" if found.is_refused else "different", found.row.sentence()
    return None if use.complaint is None else ("missing", use.complaint)


def _unreadable(file: str, cell: int | None, line: int, message: str) -> Finding:
    return Finding(file=file, cell=cell, line=line, kind="unreadable", name="syntax", message=message)
