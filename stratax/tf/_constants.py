"""Conditions that are known from a program's text (tf layer).

Programs for several ways begin with `eager = True`, and have the other way behind an `else`: it is not run.
"""

import ast
import collections
from collections.abc import Mapping
from typing import Any

_UNKNOWN = object()


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
    found = _evaluate(test, constants)
    return None if found is _UNKNOWN else bool(found)


def _evaluate(node: ast.expr, constants: Mapping[str, Any]) -> Any:
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name):
            return constants.get(name, _UNKNOWN)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            found = _evaluate(operand, constants)
            return found if found is _UNKNOWN else not found
        case ast.BoolOp(op=op, values=values):
            found = [is_true(each, constants) for each in values]
            decides = isinstance(op, ast.Or)
            if decides in found:
                return decides
            return _UNKNOWN if None in found else not decides
        case ast.Compare(left=left, ops=[ast.Eq() | ast.NotEq() as op], comparators=[right]):
            one, other = _evaluate(left, constants), _evaluate(right, constants)
            if one is _UNKNOWN or other is _UNKNOWN:
                return _UNKNOWN
            return (one == other) == isinstance(op, ast.Eq)
    return _UNKNOWN
