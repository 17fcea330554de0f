"""Which functions of a program nobody calls, read from its text (tf layer).

A program's module often has a function for another day: for a quick look, for another kind of model. What it uses does
not keep the program from running. A function or class counts as called if its name stands anywhere in what is run: in
the modules' own lines, and in what counts as called.
"""

import ast
from collections.abc import Iterator, Sequence
from typing import NamedTuple

# By these anything may be called, by a name that is computed.
_BY_ANY_NAME = frozenset({"eval", "exec", "globals", "locals", "vars"})
# In these nobody looks for a function of the program.
_LIBRARIES = frozenset({"absl", "keras", "numpy", "stratax", "tensorflow"})


class _Part(NamedTuple):
    """Lines that run only if the function or class is called that they belong to.

    Attributes:
        owner: Its name in the module.
        first: The first line.
        last: The last line.
        names: What is named there.
    """

    owner: str
    first: int
    last: int
    names: frozenset[str]


class ModuleParts:
    """What of a module runs when it is imported, and what when it is called.

    Args:
        tree: The module, or a cell of a notebook.
    """

    def __init__(self, tree: ast.Module) -> None:
        self._own_names: set[str] = set()
        self._parts: list[_Part] = []
        self._kept: set[str] = set()
        self.calls_any_name = _calls_any_name(tree)
        for node in tree.body:
            self._read(node)

    @property
    def owners(self) -> set[str]:
        """The functions and classes."""
        return {part.owner for part in self._parts}

    def find_names(self, called: set[str]) -> set[str]:
        """Return what is named where a module is imported and these of it are called."""
        names = self._own_names | self._kept
        return names.union(*(part.names for part in self._parts if part.owner in called))

    def owner_of(self, line: int) -> str | None:
        """Return the function or class that a line belongs to; None if it runs when the module is imported."""
        return next((part.owner for part in self._parts if part.first <= line <= part.last), None)

    def _read(self, node: ast.AST, owner: str | None = None) -> None:
        """Read a statement of the module, or of a class of it."""
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                owner = owner or node.name
                names = frozenset(name for each in node.body for name in _names_in(each))
                last = node.end_lineno or node.lineno
                self._parts.append(_Part(owner, node.body[0].lineno, last, names))
                for each in (*node.decorator_list, node.args):
                    self._own_names.update(_names_in(each))
                if node.decorator_list or node.name.startswith("test"):
                    # What decorates it may keep it, to call it later; so do tests.
                    self._kept.add(owner)
            case ast.ClassDef():
                for each in (*node.bases, *node.keywords, *node.decorator_list):
                    self._own_names.update(_names_in(each))
                if node.decorator_list or any("Test" in ast.unparse(base) for base in node.bases):
                    self._kept.add(owner or node.name)
                for each in node.body:
                    self._read(each, owner or node.name)
            case ast.If() | ast.Try() | ast.With() | ast.For() | ast.While():
                for each in ast.iter_child_nodes(node):
                    self._read(each, owner)
            case ast.ExceptHandler():
                for each in node.body:
                    self._read(each, owner)
            case _:
                self._own_names.update(_names_in(node))


def find_called(modules: Sequence[ModuleParts]) -> set[str] | None:
    """Return the functions and classes of a program that count as called; None if any of them may be.

    Args:
        modules: Those of the program: its own first, then what it imports.
    """
    if any(module.calls_any_name for module in modules):
        return None
    called: set[str] = set()
    while True:
        named = {name for module in modules for name in module.find_names(called)}
        if named <= called:
            break
        called |= named
    own = modules[0].owners
    # A module that calls none of its own functions is there for others, which may call any.
    return called if not own or own & called else None


def _names_in(node: ast.AST) -> Iterator[str]:
    for each in ast.walk(node):
        match each:
            case ast.Name(id=name, ctx=ast.Load()) | ast.Attribute(attr=name):
                yield name
            case ast.Constant(value=str() as text) if text.isidentifier():
                # As in `getattr(module, "name")`, and in tables of functions by their names.
                yield text


def _calls_any_name(tree: ast.Module) -> bool:
    modules = set(_find_imports(tree))
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id=name)) if name in _BY_ANY_NAME:
                return True
            case ast.Call(func=ast.Name(id="getattr"), args=[ast.Name(id=name), asked, *_]) if (
                name in modules and not isinstance(asked, ast.Constant)
            ):
                return True
    return False


def _find_imports(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                found = [(alias.name, alias.asname or alias.name.partition(".")[0]) for alias in names]
            case ast.ImportFrom(module=module, names=names):
                found = [(module or "", alias.asname or alias.name) for alias in names]
            case _:
                continue
        yield from (name for module, name in found if module.partition(".")[0] not in _LIBRARIES)
