"""Conditions that are known from a program's text (tf layer).

Programs for several ways begin with `eager = True`, and have the other way behind an `else`: it is not run. Those for
several versions of TensorFlow ask for its version.
"""

import ast
import collections
import operator
from collections.abc import Callable, Mapping
from typing import Any

# What finds the value of an attribute, such as `tf.__version__`, or returns this.
UNKNOWN = object()
Find = Callable[[ast.Attribute], Any]

_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
# Of text, with constants as arguments.
_METHODS = ("startswith", "split")


def _find_nothing(node: ast.Attribute) -> Any:
    del node
    return UNKNOWN


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


def is_true(test: ast.expr, constants: Mapping[str, Any], find: Find = _find_nothing) -> bool | None:
    """Return whether a condition holds; None if that is not known.

    Args:
        test: The condition.
        constants: The names that are known.
        find: Returns the value of an attribute, or `UNKNOWN`.
    """
    found = _evaluate(test, constants, find)
    return None if found is UNKNOWN else bool(found)


def _evaluate(node: ast.expr, constants: Mapping[str, Any], find: Find) -> Any:
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name):
            return constants.get(name, UNKNOWN)
        case ast.Attribute():
            return find(node)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            found = _evaluate(operand, constants, find)
            return found if found is UNKNOWN else not found
        case ast.BoolOp(op=op, values=values):
            found = [is_true(each, constants, find) for each in values]
            decides = isinstance(op, ast.Or)
            if decides in found:
                return decides
            return UNKNOWN if None in found else not decides
        case ast.Call(func=ast.Name(id="hasattr"), args=[owner, ast.Constant(value=str() as name)]):
            # What is not there may be asked for since it is not: that is left open.
            given = find(ast.Attribute(value=owner, attr=name, ctx=ast.Load()))
            return UNKNOWN if given is UNKNOWN else True
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARISONS:
            return _compute(_COMPARISONS[type(op)], [left, right], constants, find)
        case ast.Call(func=ast.Attribute(value=text, attr=method), args=args) if method in _METHODS:
            return _compute(
                operator.methodcaller(method, *_values(args)), [text, *args], constants, find, taken=1
            )
        case ast.Call(func=ast.Name(id="int"), args=[value]):
            return _compute(int, [value], constants, find)
        case ast.Subscript(value=value, slice=index):
            return _compute(operator.getitem, [value, index], constants, find)
    return UNKNOWN


def _values(nodes: list[ast.expr]) -> list[Any]:
    return [each.value for each in nodes if isinstance(each, ast.Constant)]


def _compute(
    function: Callable[..., Any],
    nodes: list[ast.expr],
    constants: Mapping[str, Any],
    find: Find,
    taken: int | None = None,
) -> Any:
    """Return what a function gives for the values of nodes, of which it takes the first, if all are known."""
    values = [_evaluate(each, constants, find) for each in nodes]
    if any(each is UNKNOWN for each in values):
        return UNKNOWN
    try:
        return function(*values[:taken])
    except (TypeError, ValueError, IndexError):
        return UNKNOWN
