"""Rewrites a Python function's control flow as calls that can be traced (core layer).

The rewriting is AutoGraph's, from the package `diastatic-malt`: `for`, `while`, `if`, `break`, `continue`, `return`,
`and`, `or`, `not` and calls become calls of operators. What is added here: the result is compiled under the user's own
file name and line numbers, so a traceback, a debugger or a profiler shows the user's code, and no file is written.
"""

import ast
import threading
import types
import weakref
from typing import Any

from stratax.core.autograph import _desugar
from stratax.seams.malt import GenericTranspiler, PyToPy, anno, converter

# What the rewritten code calls the operators.
_OPERATORS = "ag__"


class Transpiler(PyToPy):
    """AutoGraph's passes over the syntax tree, without its way of loading the result."""

    def nodes(self, function: types.FunctionType) -> tuple[Any, Any]:
        """Return the rewritten function as a syntax tree, and its context."""
        options = converter.ConversionOptions(recursive=True, user_requested=False, optional_features=None)
        context = converter.ProgramContext(options=options)
        return GenericTranspiler.transform_function(self, function, context)

    def transform_ast(self, node: ast.AST, ctx: object) -> ast.AST:
        return super().transform_ast(_desugar.desugar(node, _OPERATORS), ctx)


_lock = threading.Lock()
_factories: weakref.WeakKeyDictionary[types.CodeType, tuple[types.CodeType, str]] = (
    weakref.WeakKeyDictionary()
)


def transpile(function: types.FunctionType, operators: object) -> types.FunctionType:
    """Rewrite one function.

    Args:
        function: A Python function with source code: not a generator.
        operators: An object whose attributes are the operators that the rewritten code calls.

    Returns:
        A function with the same name, arguments, defaults, globals and closure.

    Raises:
        Exception: Whatever AutoGraph raises where it can't read or rewrite the source.
    """
    # The table is shared by all threads, and no function is rewritten twice.
    with _lock:
        entry = _factories.get(function.__code__)
        if entry is None:
            entry = _factories[function.__code__] = _factory_code(function)
    code, name = entry
    # The cells themselves, not their contents: both functions see later changes of a variable.
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    factory = types.FunctionType(
        code, function.__globals__, name, None, tuple(cells[variable] for variable in code.co_freevars)
    )
    rewritten = factory(operators)
    rewritten.__code__ = rewritten.__code__.replace(
        # Tracebacks show the user's name.
        co_name=function.__code__.co_name,
        co_qualname=function.__code__.co_qualname,
    )
    rewritten.__name__ = function.__name__
    rewritten.__qualname__ = function.__qualname__
    rewritten.__module__ = function.__module__
    rewritten.__annotations__ = function.__annotations__
    rewritten.__doc__ = function.__doc__
    rewritten.__defaults__ = function.__defaults__
    rewritten.__kwdefaults__ = function.__kwdefaults__
    # Decorators may have left attributes.
    rewritten.__dict__.update(function.__dict__)
    return rewritten


def _factory_code(function: types.FunctionType) -> tuple[types.CodeType, str]:
    """Return the code of a function `factory(operators) -> rewritten`, with the closure of `function`, and its name."""
    node, context = Transpiler().nodes(function)
    name = context.info.name
    if isinstance(node, ast.Lambda):
        definition: ast.stmt = ast.Assign(targets=[ast.Name(name, ast.Store())], value=node)
    else:
        node.name = name
        # As the annotations of its arguments; see below.
        node.returns = None
        _erase_annotations(node.args)
        definition = node
    inner = _function_definition(
        "factory", [_OPERATORS], [definition, ast.Return(ast.Name(name, ast.Load()))]
    )
    # The outer function only makes the closure's names local somewhere, so that the inner one has cells for them.
    free = [ast.Assign([ast.Name(v, ast.Store())], ast.Constant(None)) for v in function.__code__.co_freevars]
    outer = _function_definition("closure", [], [*free, inner, ast.Return(ast.Name("factory", ast.Load()))])
    module = ast.Module(body=[outer], type_ignores=[])
    _set_locations(module, function.__code__.co_firstlineno)
    flags = 0
    for feature in context.info.future_features:
        # The rewritten code obeys the `from __future__` imports of the user's module, and none of this one.
        flags |= __import__("__future__").__dict__[feature].compiler_flag
    code = compile(module, function.__code__.co_filename, "exec", flags=flags, dont_inherit=True)
    return _inner_code(_inner_code(code, "closure"), "factory"), name


def _erase_annotations(arguments: ast.arguments) -> None:
    """Erase annotations: they were evaluated where the function was defined, where their names were known."""
    for node in ast.walk(arguments):
        if isinstance(node, ast.arg):
            node.annotation = None


def _function_definition(name: str, arguments: list[str], body: list[ast.stmt]) -> ast.FunctionDef:
    parameters = ast.arguments(
        posonlyargs=[], args=[ast.arg(a) for a in arguments], kwonlyargs=[], kw_defaults=[], defaults=[]
    )
    return ast.FunctionDef(name=name, args=parameters, body=body, decorator_list=[])


def _inner_code(code: types.CodeType, name: str) -> types.CodeType:
    return next(c for c in code.co_consts if isinstance(c, types.CodeType) and c.co_name == name)


def _set_locations(node: ast.AST, line: int) -> None:
    """Give every node the line of the user's code that it comes from; what was added takes its surroundings'."""
    origin = anno.getanno(node, anno.Basic.ORIGIN, default=None)
    line = origin.loc.lineno if origin is not None else line
    if "lineno" in node._attributes:
        # No columns: the caret under a traceback's line would point into the rewritten code.
        node.lineno, node.col_offset = line, 0  # type: ignore[attr-defined]
        node.end_lineno, node.end_col_offset = None, None  # type: ignore[attr-defined]
    for child in ast.iter_child_nodes(node):
        _set_locations(child, line)
