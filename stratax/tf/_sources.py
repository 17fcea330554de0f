"""What names of modules stand for, read from the modules' text, which is not run (tf layer).

`stratax check` asks for a few dozen names of Stratax and Keras. Importing both takes seconds; reading the files in
which these names are made takes milliseconds. Doors of Stratax are read from their stubs, other modules from their
source. What can't be told that way is `UNKNOWN`, of which anything may be true.
"""

import ast
import copy
import dataclasses
import functools
import importlib.util
import os
from collections.abc import Iterator
from typing import Literal, NamedTuple

from stratax.base import doors

# Modules of other libraries hold what they like.
_READ = ("stratax", "keras")
_BACKEND = "jax"
# Bases that add neither arguments nor what a program would call.
_PLAIN_BASES = ("abc", "collections.abc", "typing", "builtins")


@dataclasses.dataclass(frozen=True, slots=True)
class SourceModule:
    """A module, by its name."""

    name: str


@dataclasses.dataclass(frozen=True, slots=True)
class Class:
    """A class, and the module in which it is made."""

    module: str
    node: ast.ClassDef


@dataclasses.dataclass(frozen=True, slots=True)
class SourceFunction:
    """A function, and the module in which it is made."""

    module: str
    node: ast.FunctionDef


@dataclasses.dataclass(frozen=True, slots=True)
class Unknown:
    """Something of which the text does not tell what it is.

    Attributes:
        module: The module in which it is made; empty if that is not known.
        name: Its name there.
    """

    module: str = ""
    name: str = ""


Definition = SourceModule | Class | SourceFunction | Unknown
UNKNOWN = Unknown()


def attribute(owner: Definition, name: str) -> Definition | None:
    """Return what an attribute is; None if there is certainly none.

    Args:
        owner: The module, class or other thing.
        name: The attribute.
    """
    match owner:
        case SourceModule():
            return _of_module(owner.name, name)
        case Class():
            return _of_class(owner, name)
        case _:
            return UNKNOWN


def arguments(callee: Definition) -> frozenset[str] | None:
    """Return the names of the arguments that a function or class takes; None if it may take any."""
    match callee:
        case SourceFunction():
            taken = _find_taken(callee.node)
            return taken.names | _find_added(callee) if taken.others == "refused" else None
        case Class():
            return _of_constructor(callee)
        case _:
            return None


def _find_added(function: SourceFunction) -> frozenset[str]:
    """Return the arguments that decorators add: those that they make with `parameter("name", ...)`."""
    names = set()
    for decorator in function.node.decorator_list:
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        maker = _evaluate(function.module, called)
        for node in ast.walk(maker.node) if isinstance(maker, SourceFunction) else ():
            match node:
                case ast.Call(func=ast.Name(id="parameter"), args=[ast.Constant(value=str() as name), *_]):
                    names.add(name)
    return frozenset(names)


def lineage(cls: Class) -> Iterator[Definition]:
    """Yield a class and its bases, the nearest first, as `__mro__` has them but for diamonds."""
    yield cls
    for base in cls.node.bases:
        found = _evaluate(cls.module, base.value if isinstance(base, ast.Subscript) else base)
        if isinstance(found, Class) and found.node is not cls.node:
            yield from lineage(found)
        elif not _is_plain(found):
            yield found or UNKNOWN


def _is_plain(base: Definition | None) -> bool:
    return isinstance(base, Unknown) and base.module in _PLAIN_BASES


def _of_module(module: str, name: str) -> Definition | None:
    path = _file(module)
    if path is None:
        return Unknown(module, name)
    if _is_door(path):
        return _of_door(module, path, name)
    return _of_text(module, name, frozenset())


def _of_door(module: str, path: str, name: str) -> Definition | None:
    table = _table(module, path)
    if name in table:
        origin = table[name]
        return (
            _of_module(origin.module, origin.attribute) if origin.attribute else SourceModule(origin.module)
        )
    for library in _libraries(path):
        if (found := _of_module(library, name)) is not None:
            return found
    inside = f"{module}.{name}"
    return SourceModule(inside) if not name.startswith("_") and _file(inside) is not None else None


def _of_text(module: str, name: str, seen: frozenset[tuple[str, str]]) -> Definition | None:
    made, stars = _bindings(module)
    # A package that imports a module of its own comes back to itself.
    if (module, name) not in seen:
        seen |= {(module, name)}
        if name in made and (found := _make_definition(module, name, made[name], seen)) is not None:
            return found
        for star in stars:
            found = None if name.startswith("_") else _follow_import(star, name, seen)
            if found is not None:
                return found
    if _file(f"{module}.{name}") is not None:
        return SourceModule(f"{module}.{name}")
    # A function that answers for names.
    return Unknown(module, name) if "__getattr__" in made else None


def _make_definition(
    module: str, name: str, node: ast.AST, seen: frozenset[tuple[str, str]]
) -> Definition | None:
    match node:
        case ast.FunctionDef():
            return SourceFunction(module, node)
        case ast.ClassDef():
            return Class(module, node)
        case ast.Import():
            (alias,) = [each for each in node.names if (each.asname or each.name.split(".")[0]) == name]
            return SourceModule(alias.name if alias.asname else name)
        case ast.ImportFrom():
            (alias,) = [each for each in node.names if (each.asname or each.name) == name]
            return _follow_import(_absolute(module, node), alias.name, seen)
        case ast.Assign(value=(ast.Name() | ast.Attribute()) as value):
            return _evaluate(module, value, seen) or Unknown(module, name)
        case ast.Assign(value=ast.Call(func=ast.Name() as maker)):
            return _find_returned(_evaluate(module, maker, seen)) or Unknown(module, name)
    return Unknown(module, name)


def _follow_import(module: str, name: str, seen: frozenset[tuple[str, str]]) -> Definition | None:
    path = _file(module)
    if path is None or _is_door(path):
        return _of_module(module, name)
    return _of_text(module, name, seen)


def _evaluate(
    module: str, node: ast.expr, seen: frozenset[tuple[str, str]] = frozenset()
) -> Definition | None:
    """Return what a name or an attribute stands for in a module."""
    if isinstance(node, ast.Name):
        found = _of_text(module, node.id, seen)
        return Unknown("builtins", node.id) if found is None else found
    if isinstance(node, ast.Attribute):
        owner = _evaluate(module, node.value, seen)
        return None if owner is None else attribute(owner, node.attr)
    return UNKNOWN


def _find_returned(maker: Definition | None) -> SourceFunction | None:
    """Return the function that a function defines and returns, as decorators and families of functions do."""
    if not isinstance(maker, SourceFunction):
        return None
    body = maker.node.body
    match body[-1]:
        case ast.Return(value=ast.Name(id=name) | ast.Call(args=[ast.Name(id=name), *_]) as value):
            inside = {node.name: node for node in body if isinstance(node, ast.FunctionDef)}
            if name not in inside:
                return None
            # What it is given to adds arguments, as a decorator does.
            node = copy.copy(inside[name])
            node.decorator_list = [
                *node.decorator_list,
                *([value.func] if isinstance(value, ast.Call) else []),
            ]
            return SourceFunction(maker.module, node)
    return None


def _of_class(cls: Class, name: str) -> Definition | None:
    for each in lineage(cls):
        if not isinstance(each, Class):
            return UNKNOWN
        for node in each.node.body:
            if isinstance(node, ast.FunctionDef) and node.name == name:
                return SourceFunction(each.module, node)
            if name in _find_bound(node):
                return Unknown(each.module, name)
    return UNKNOWN if hasattr(object, name) else None


def _of_constructor(cls: Class) -> frozenset[str] | None:
    names = frozenset[str]()
    for each in lineage(cls):
        if not isinstance(each, Class):
            return None
        if _is_dataclass(each.node):
            return names | _fields(each)
        names |= _find_named_by_decorators(each.node)
        for node in each.node.body:
            if isinstance(node, ast.FunctionDef) and node.name == "__init__":
                taken = _find_taken(node)
                names |= taken.names
                if taken.others != "super":
                    return names if taken.others == "refused" else None
    return None


def _find_named_by_decorators(node: ast.ClassDef) -> frozenset[str]:
    """Return the arguments of the `__init__` that `with_arguments("units activation ...")` makes."""
    names = set()
    for decorator in node.decorator_list:
        match decorator:
            case ast.Call(func=ast.Name(id="with_arguments"), args=[ast.Constant(value=str() as listed)]):
                names |= {*listed.split()}
    return frozenset(names)


def _is_dataclass(node: ast.ClassDef) -> bool:
    return any("dataclass" in ast.unparse(decorator) for decorator in node.decorator_list)


def _fields(cls: Class) -> frozenset[str]:
    classes = [each for each in lineage(cls) if isinstance(each, Class)]
    nodes = [node for each in classes for node in each.node.body if isinstance(node, ast.AnnAssign)]
    return frozenset(
        node.target.id
        for node in nodes
        if isinstance(node.target, ast.Name) and "ClassVar" not in ast.unparse(node.annotation)
    )


class _Taken(NamedTuple):
    """The arguments that a function takes.

    Attributes:
        names: Those that it names.
        others: What becomes of others: "refused", given to "super", or "taken".
    """

    names: frozenset[str]
    others: Literal["refused", "super", "taken"]


def _find_taken(node: ast.FunctionDef) -> _Taken:
    parameters = node.args
    names = {each.arg for each in (*parameters.posonlyargs, *parameters.args, *parameters.kwonlyargs)}
    if parameters.kwarg is None:
        return _Taken(frozenset(names), "refused")
    rest = parameters.kwarg.arg
    uses = sum(isinstance(each, ast.Name) and each.id == rest for each in ast.walk(node))
    # As in `kwargs.pop("input_shape", None)` and `"input_shape" in kwargs`, and what only tells of the others.
    for each in ast.walk(node):
        match each:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=name), attr="pop" | "get" | "setdefault"),
                args=[ast.Constant(value=str() as key), *_],
            ) if name == rest:
                names.add(key)
                uses -= 1
            case ast.Compare(left=ast.Constant(value=str() as key), comparators=[ast.Name(id=name)]) if (
                name == rest
            ):
                names.add(key)
                uses -= 1
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str())) if name == rest:
                uses -= 1
            case ast.If(test=ast.Name(id=name)) if name == rest:
                refusals = [inner for inner in each.body if isinstance(inner, ast.Raise)]
                uses -= 1 + sum(
                    isinstance(inner, ast.Name) and inner.id == rest
                    for refusal in refusals
                    for inner in ast.walk(refusal)
                )
    given_on = [
        each
        for each in ast.walk(node)
        if isinstance(each, ast.Call)
        and any(ast.unparse(keyword) == f"**{rest}" for keyword in each.keywords if keyword.arg is None)
    ]
    if uses > len(given_on) or any(ast.unparse(each.func) != "super().__init__" for each in given_on):
        return _Taken(frozenset(names), "taken")
    return _Taken(frozenset(names), "super" if given_on else "refused")


@functools.cache
def _bindings(module: str) -> tuple[dict[str, ast.stmt], list[str]]:
    """Return what binds the names of a module, and the modules of which it takes all names."""
    path = _file(module)
    if path is None:
        return {}, []
    with open(path, encoding="utf-8") as file:
        tree = ast.parse(file.read())
    made: dict[str, ast.stmt] = {}
    stars = []
    for node in _statements(tree.body):
        if isinstance(node, ast.ImportFrom) and node.names[0].name == "*":
            stars.append(_absolute(module, node))
        else:
            made |= dict.fromkeys(_find_bound(node), node)
    return made, stars


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements that run when a module is imported, as far as that can be told."""
    for node in body:
        match node:
            case ast.If():
                is_true = _is_true(node.test)
                yield from _statements(node.body if is_true is not False else [])
                yield from _statements(node.orelse if is_true is not True else [])
            case ast.Try():
                for handler in node.handlers:
                    yield from _statements(handler.body)
                yield from _statements([*node.body, *node.orelse, *node.finalbody])
            case ast.With():
                yield from _statements(node.body)
            case _:
                yield node


def _is_true(test: ast.expr) -> bool | None:
    """Return whether a condition holds, of those that ask for Keras' backend; None if that is not known."""
    match test:
        case ast.Compare(left=left, ops=[ast.Eq()], comparators=[ast.Constant(value=str() as name)]):
            return name == _BACKEND if "backend" in ast.unparse(left) else None
    return False if ast.unparse(test).endswith("TYPE_CHECKING") else None


def _find_bound(node: ast.stmt) -> list[str]:
    match node:
        case ast.FunctionDef() | ast.ClassDef():
            return [node.name]
        case ast.Import():
            return [alias.asname or alias.name.split(".")[0] for alias in node.names]
        case ast.ImportFrom():
            return [alias.asname or alias.name for alias in node.names]
        case ast.Assign(targets=targets):
            return [name for target in targets for name in _targets(target)]
        case ast.AnnAssign(target=target) | ast.For(target=target):
            return _targets(target)
    return []


def _targets(target: ast.expr) -> list[str]:
    match target:
        case ast.Name(id=name):
            return [name]
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            return [name for part in parts for name in _targets(part)]
    return []


def _absolute(module: str, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    path = _file(module) or ""
    package = module.split(".")
    # A package is its own first dot.
    up = node.level - 1 if os.path.basename(path) == "__init__.py" else node.level
    package = package[: len(package) - up]
    return ".".join([*package, node.module] if node.module else package)


def _is_door(path: str) -> bool:
    return path.endswith(".pyi") or os.path.exists(f"{path}i")


_table = functools.cache(doors.read_table)
_libraries = functools.cache(doors.read_libraries)


@functools.cache
def _file(module: str) -> str | None:
    """Return the file of a module of Stratax or Keras, which is not imported; None if there is none.

    That of a door which is nothing else is its stub.
    """
    root, *parts = module.split(".")
    folder = _folder(root)
    if folder is None:
        return None
    stem = os.path.join(folder, *parts)
    package = os.path.join(stem, "__init__")
    paths = (f"{stem}.py", f"{package}.py", f"{stem}.pyi", f"{package}.pyi")
    return next((path for path in paths if os.path.isfile(path)), None)


@functools.cache
def _folder(root: str) -> str | None:
    spec = importlib.util.find_spec(root) if root in _READ else None
    return os.path.dirname(spec.origin) if spec is not None and spec.origin else None
