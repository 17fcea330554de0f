"""Conditions that are known from a program's text (tf layer).

Programs for several ways begin with `eager = True`, and have the other way behind an `else`: it is not run.
"""

import ast
import collections
import operator
from collections.abc import Callable, Mapping
from typing import Any

from stratax.tf._version import VERSION

UNKNOWN = object()
# By what programs ask for TensorFlow's version, and what they make of it.
_VERSIONS = frozenset(
    f"{module}.{name}"
    for module in ("tf", "tensorflow")
    for name in ("__version__", "VERSION", "version.VERSION")
)
_PARSERS = frozenset({"LooseVersion", "StrictVersion", "Version", "parse"})
_COMPARISONS: Mapping[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda one, other: one in other,
    ast.NotIn: lambda one, other: one not in other,
}


def find_constants(tree: ast.Module) -> dict[str, Any]:
    """Return the names that a module sets once, to a constant, and that nothing else in it is called.

    Args:
        tree: The module.
    """
    bound: collections.Counter[str] = collections.Counter()
    for node in ast.walk(tree):
        match node:
            case (
                ast.Name(id=name, ctx=ast.Store() | ast.Del())
                | ast.arg(arg=name)
                | ast.alias(asname=str() as name)
            ):
                bound[name] += 1
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                bound[name] += 1
            case ast.alias(name=name):
                bound[name.partition(".")[0]] += 1
            case ast.Global(names=names):
                # Another function, or another module by its name, may set it.
                bound.update(dict.fromkeys(names, 2))
    found = {}
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=value)) if bound[name] == 1:
                found[name] = value
    return found


def is_true(test: ast.expr, constants: Mapping[str, Any]) -> bool | None:
    """Return whether a condition holds; None if that is not known.

    Args:
        test: The condition.
        constants: The names that are known.
    """
    found = evaluate(test, constants)
    return None if found is UNKNOWN else bool(found)


def _of_version(node: ast.Call | ast.Subscript, constants: Mapping[str, Any]) -> Any:
    """Return what programs make of a version to compare it, such as its first number."""
    match node:
        case ast.Call(
            func=ast.Attribute(value=owner, attr="startswith" | "split" as method),
            args=[ast.Constant(value=str() as by)],
        ):
            found = evaluate(owner, constants)
            if isinstance(found, str):
                return found.startswith(by) if method == "startswith" else tuple(found.split(by))
        case ast.Call(func=ast.Name(id="int" | "float" as kind), args=[value]):
            found = evaluate(value, constants)
            if isinstance(found, str) and found.replace(".", "", 1).isdigit():
                return int(found) if kind == "int" else float(found)
        case ast.Call(func=function, args=[value]) if ast.unparse(function).rpartition(".")[2] in _PARSERS:
            found = evaluate(value, constants)
            if isinstance(found, str):
                return tuple(int(part) for part in found.split(".") if part.isdigit())
        case ast.Subscript(value=value, slice=ast.Constant(value=int() as place)):
            found = evaluate(value, constants)
            if isinstance(found, str | tuple) and -len(found) <= place < len(found):
                return found[place]
        case ast.Subscript(
            value=value, slice=ast.Slice(lower=None, upper=ast.Constant(value=int() as end), step=None)
        ):
            found = evaluate(value, constants)
            if isinstance(found, str | tuple):
                return found[:end]
    return UNKNOWN


def name_of(node: ast.expr) -> str | None:
    """Return the name by which a program's settings have an expression; None if they have it by none.

    Args:
        node: A name, an attribute, or an element of a dictionary. Flags have names of their own.
    """
    match node:
        case ast.Attribute(value=ast.Name(id="FLAGS") | ast.Attribute(attr="FLAGS"), attr=name):
            return f"FLAGS.{name}"
        case (
            ast.Name(id=name)
            | ast.Attribute(attr=name)
            | ast.Subscript(slice=ast.Constant(value=str() as name))
        ):
            return name
    return None


def evaluate(node: ast.expr, constants: Mapping[str, Any]) -> Any:
    """Return what an expression is; `UNKNOWN` if that is not known.

    Args:
        node: The expression.
        constants: The names that are known; by `.name` those of `tf._settings`.
    """
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name) if name in constants:
            return constants[name]
        case ast.Attribute() if ast.unparse(node) in _VERSIONS:
            return VERSION
        case ast.Call(
            func=ast.Name(id="hasattr"), args=[ast.Name(), ast.Constant(value="version" | "__version__")]
        ):
            return True
        case ast.Call() | ast.Subscript(slice=ast.Constant(value=int()) | ast.Slice()):
            return _of_version(node, constants)
        case ast.Name() | ast.Attribute() | ast.Subscript():
            return constants.get(f".{name_of(node)}", UNKNOWN)
        case ast.List(elts=elements) | ast.Tuple(elts=elements) | ast.Set(elts=elements):
            found = [evaluate(each, constants) for each in elements]
            return UNKNOWN if UNKNOWN in found else tuple(found)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            found = evaluate(operand, constants)
            return found if found is UNKNOWN else not found
        case ast.BoolOp(op=op, values=values):
            found = [is_true(each, constants) for each in values]
            decides = isinstance(op, ast.Or)
            if decides in found:
                return decides
            return UNKNOWN if None in found else not decides
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            one, other = evaluate(left, constants), evaluate(right, constants)
            if one is UNKNOWN or other is UNKNOWN:
                return UNKNOWN
            try:
                return _COMPARISONS[type(op)](one, other)
            except TypeError:
                # What can't be compared ends a program.
                return UNKNOWN
    return UNKNOWN
