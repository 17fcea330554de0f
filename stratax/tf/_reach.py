"""Which functions of a program nobody calls, read from its text (tf layer).

A program's module often has a function for another day: for a quick look, for another kind of model. What it uses does
not keep the program from running. A function or class counts as called if its name stands anywhere in what is run: in
the modules' own lines, and in what counts as called.
"""

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from stratax.tf import _constants

# By these anything may be called, by a name that is computed.
_BY_ANY_NAME = frozenset({"eval", "exec", "globals", "locals", "vars"})
# In these nobody looks for a function of the program.
_LIBRARIES = frozenset({"absl", "keras", "numpy", "stratax", "tensorflow"})


# What a class may have above it that calls none of its methods.
_PLAIN_BASES = frozenset({"object", "ABC", "abc.ABC"})
# What is told the names of settings.
_DEFINITIONS = ("DEFINE_", "add_argument")


class _Part(NamedTuple):
    """Lines that run only if the function or class is called that they belong to.

    Attributes:
        owner: Its name in the module.
        method: Of a class, the method's.
        first: The first line.
        last: The last line.
        names: What is named there.
    """

    owner: str
    method: str | None
    first: int
    last: int
    names: frozenset[str]


class Called(NamedTuple):
    """What of a program counts as called.

    Attributes:
        names: The names of functions, classes and methods, among others.
        plain: The classes that nothing but the program calls methods of.
    """

    names: set[str]
    plain: frozenset[str]

    def has(self, part: _Part) -> bool:
        """Return whether a part counts as called."""
        if part.owner not in self.names:
            return False
        is_found = part.method is None or part.method.startswith("__") or part.method in self.names
        return is_found or part.owner not in self.plain


class ModuleParts:
    """What of a module runs when it is imported, and what when it is called.

    Args:
        tree: The module, or a cell of a notebook.
        settings: What is known of the program's settings: what they leave out is not run.
    """

    def __init__(self, tree: ast.Module, settings: Mapping[str, Any] | None = None) -> None:
        self._settings = settings or {}
        self._own_names: set[str] = set()
        self._parts: list[_Part] = []
        self._kept: set[str] = set()
        self._libraries = frozenset(_find_imports(tree, of_libraries=True))
        self.calls_any_name = _calls_any_name(tree)
        # As `getattr(self, name)()`.
        self.calls_any_method = any(
            isinstance(node, ast.Call)
            and _name_called(node) == "getattr"
            and not (node.args[1:] and isinstance(node.args[1], ast.Constant))
            for node in ast.walk(tree)
        )
        # By the name of each class, what it inherits from.
        self.bases: dict[str, list[ast.expr]] = {}
        for node in tree.body:
            self._read(node)

    @property
    def owners(self) -> set[str]:
        """The functions and classes."""
        return {part.owner for part in self._parts}

    def find_names(self, called: Called) -> set[str]:
        """Return what is named where a module is imported and these of it are called."""
        names = self._own_names | self._kept
        return names.union(*(part.names for part in self._parts if called.has(part)))

    def is_run(self, line: int, called: Called) -> bool:
        """Return whether a line runs when the module is imported, or in what is called."""
        part = next((part for part in self._parts if part.first <= line <= part.last), None)
        return part is None or called.has(part)

    def _read(self, node: ast.AST, owner: str | None = None) -> None:
        """Read a statement of the module, or of a class of it."""
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                method = node.name if owner else None
                owner = owner or node.name
                names = frozenset(name for each in node.body for name in self._names_in(each))
                last = node.end_lineno or node.lineno
                self._parts.append(_Part(owner, method, node.body[0].lineno, last, names))
                for each in (*node.decorator_list, node.args):
                    # Named by itself, as by a default of what it is called, it isn't called yet.
                    self._own_names.update(name for name in self._names_in(each) if name != owner)
                if node.decorator_list and method is None:
                    # What decorates it may keep it, to call it later.
                    self._kept.add(owner)
                elif node.decorator_list:
                    self._own_names.add(node.name)
                if node.name.startswith("test"):
                    self._kept |= {owner, node.name}
            case ast.ClassDef():
                for each in (*node.bases, *node.keywords, *node.decorator_list):
                    self._own_names.update(self._names_in(each))
                self.bases.setdefault(node.name, []).extend([*node.bases, *(k.value for k in node.keywords)])
                if node.decorator_list or any("Test" in ast.unparse(base) for base in node.bases):
                    self._kept.add(owner or node.name)
                for each in node.body:
                    self._read(each, owner or node.name)
            case ast.If():
                self._own_names.update(self._names_in(node.test))
                for each in self._sides(node):
                    self._read(each, owner)
            case ast.Try() | ast.With() | ast.For() | ast.While():
                for each in ast.iter_child_nodes(node):
                    self._read(each, owner)
            case ast.ExceptHandler():
                for each in node.body:
                    self._read(each, owner)
            case _:
                self._own_names.update(self._names_in(node))

    def _sides(self, node: ast.If) -> list[ast.stmt]:
        """Return the statements of a condition that may be run."""
        holds = _constants.is_true(node.test, self._settings)
        return [*(node.body if holds is not False else ()), *(node.orelse if holds is not True else ())]

    def _names_in(self, node: ast.AST) -> Iterator[str]:
        inner: Iterable[ast.AST] = ast.iter_child_nodes(node)
        match node:
            case ast.Attribute() if _root(node) in self._libraries or _root(node) == "FLAGS":
                # A name of that library's, or of a setting.
                return
            case ast.Name(id=name, ctx=ast.Load()) | ast.Attribute(attr=name):
                yield name
            case ast.Constant(value=str() as text) if text.isidentifier():
                # As in `getattr(module, "name")`, and in tables of functions by their names.
                yield text
            case ast.Assign(targets=[ast.Name(id="__all__")]):
                return
            case ast.Call(args=[ast.Constant(), *others]) if _name_called(node).startswith(_DEFINITIONS):
                inner = [*others, *node.keywords]
            case ast.If():
                inner = [node.test, *self._sides(node)]
        for each in inner:
            yield from self._names_in(each)


def find_called(modules: Sequence[ModuleParts]) -> Called | None:
    """Return the functions and classes of a program that count as called; None if any of them may be.

    Args:
        modules: Those of the program: its own first, then what it imports.
    """
    if any(module.calls_any_name for module in modules):
        return None
    bases: dict[str, list[ast.expr]] = {}
    for module in modules:
        for name, found in module.bases.items():
            bases.setdefault(name, []).extend(found)
    open_to_any = {name for module in modules if module.calls_any_method for name in module.bases}
    plain = {name for name in bases.keys() - open_to_any if _is_plain(name, bases, frozenset())}
    called = Called(set(), frozenset(plain))
    while True:
        named = {name for module in modules for name in module.find_names(called)}
        if named <= called.names:
            break
        called.names.update(named)
    own = modules[0].owners
    # A module that calls none of its own functions is there for others, which may call any.
    return called if not own or own & called.names else None


def _is_plain(name: str, bases: Mapping[str, Sequence[ast.expr]], below: frozenset[str]) -> bool:
    """Return whether nothing that a class inherits from calls its methods, but for the program's own classes."""
    for base in bases[name]:
        found = [base]
        if isinstance(base, ast.Call) and _name_called(base) == "with_metaclass":
            found = base.args[1:]
        for each in map(ast.unparse, found):
            if each in bases and each not in below | {name}:
                if not _is_plain(each, bases, below | {name}):
                    return False
            elif each not in _PLAIN_BASES and not each.endswith("ABCMeta"):
                return False
    return True


def _name_called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _root(node: ast.expr) -> str | None:
    """Return the name that a chain of attributes begins with."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def _calls_any_name(tree: ast.Module) -> bool:
    modules = set(_find_imports(tree))
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id="vars"), args=[asked]):
                # Of an object, such as the options of a command line.
                if isinstance(asked, ast.Name) and asked.id in modules:
                    return True
            case ast.Call(func=ast.Name(id=name)) if name in _BY_ANY_NAME:
                return True
            case ast.Call(func=ast.Name(id="getattr"), args=[ast.Name(id=name), asked, *_]) if (
                name in modules and not isinstance(asked, ast.Constant)
            ):
                return True
    return False


def _find_imports(tree: ast.Module, *, of_libraries: bool = False) -> Iterator[str]:
    """Yield the names by which a module knows others: those of a program's own, or libraries."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                found = [(alias.name, alias.asname or alias.name.partition(".")[0]) for alias in names]
            case ast.ImportFrom(module=module, names=names):
                found = [(module or "", alias.asname or alias.name) for alias in names]
            case _:
                continue
        for module, name in found:
            if (module.partition(".")[0] in _LIBRARIES) == of_libraries:
                yield name
