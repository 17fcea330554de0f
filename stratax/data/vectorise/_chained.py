"""Operations of a user's function that follow one another, computed in one pass over their numbers (data layer).

`photo = image.random_crop(image.resize(photo, size), part)` makes an array that nobody sees. Where the source of a
function shows that the result of a call goes into the next one and nowhere else, an operation may answer with what it
is going to compute, a :class:`Deferred`, and the last one of such a chain computes all. The function is compiled once
more for that, with other instructions for calls and operators in chains; which function is called is still looked up
when it is called.
"""

import ast
import linecache
import operator
import threading
import types
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import numpy as np

from stratax.base.tensors import has_tensors
from stratax.data.elements import as_tensor

_CALL, _OPERATE = "stratax_call", "stratax_operate"
_LATER = "_stratax_later"
_OPERATORS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*"}
_APPLIED = {"+": operator.add, "-": operator.sub, "*": operator.mul}
# What could look at a function's names while it runs, or suspends it.
_LOOKS_AROUND = {"dir", "eval", "exec", "globals", "locals", "vars"}
_NOT_MARKED: tuple[Any, Any] = (None, None)
_SUSPENDS = (ast.Yield, ast.YieldFrom, ast.Await, ast.AsyncFor, ast.AsyncWith, ast.NamedExpr)
_FUTURE_FLAGS = 0x1FF0000
_SCOPES = (
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.Lambda,
    ast.ListComp,
    ast.SetComp,
    ast.DictComp,
    ast.GeneratorExp,
)
_SIMPLE = (ast.Attribute, ast.BinOp, ast.Constant, ast.List, ast.Name, ast.Tuple, ast.UnaryOp)
# Makers of numbers, under their usual names.
_SCALARS = {"float", "float32", "float64", "int", "int32", "int64"}

Operation = TypeVar("Operation", bound=Callable[..., Any])
_names: set[str] = set()
# Python 3.11 takes two threads that parse at a time for a damaged tree (a SystemError).
_parsing = threading.Lock()


class Deferred:
    """What an operation is going to compute. It is given to the next operation only, once."""

    # Not an abstract class of `abc`, whose instances are told apart ten times as slowly.
    __slots__ = ()

    def value(self, into: np.ndarray | None = None) -> Any:
        """Compute it: into an array that is given, if it has the same dtype and shape, else into a new one."""
        raise NotImplementedError

    def operate(self, symbol: str, operand: object) -> "Deferred | None":
        """Return what an operator (`+`, `-` or `*`) with something on its right gives; None to compute this first."""
        raise NotImplementedError


def deferrable(later: Callable[..., Deferred | None]) -> Callable[[Operation], Operation]:
    """Mark an operation as one that can be part of a chain.

    Args:
        later: Takes the operation's arguments, the first of which may be a :class:`Deferred`. Returns None, or raises,
            where the operation itself has to be called; whatever it did until then must not show.
    """

    def mark(operation: Operation) -> Operation:
        # With the operation: `functools.wraps` copies attributes.
        setattr(operation, _LATER, (operation, later))
        _names.add(operation.__name__)
        return operation

    return mark


def chain_operations(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that does what `function` does, with chains of operations computed in one pass.

    Returns:
        `function` itself where there is no chain, or its source is not at hand; else one that may return a
        :class:`Deferred` where the result of a chain is all that it returns.
    """
    if type(function) is not types.FunctionType or _names.isdisjoint(function.__code__.co_names):
        return function
    try:
        with _parsing:
            return _compile(function, _definition(function.__code__)) or function
    except (LookupError, RecursionError, SyntaxError, SystemError, ValueError):
        return function


def _definition(code: types.CodeType) -> ast.FunctionDef:
    """Return the source of a function.

    Raises:
        LookupError: There is none, or it is not what the function was compiled from.
    """
    source = "".join(linecache.getlines(code.co_filename))
    tree = ast.parse(source, code.co_filename)
    whole = compile(tree, code.co_filename, "exec", dont_inherit=True)
    # A file may have been edited since it was imported.
    if code not in _code_objects(whole):
        raise LookupError
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == code.co_name:
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            if first == code.co_firstlineno:
                return node
    raise LookupError


def _code_objects(code: types.CodeType) -> Iterator[types.CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield constant
            yield from _code_objects(constant)


def _compile(function: types.FunctionType, definition: ast.FunctionDef) -> Callable[..., Any] | None:
    """Return the function with its chains; None if it has none."""
    code = function.__code__
    if not _is_plain(definition) or "__class__" in code.co_freevars:
        return None
    rewriting = _Rewriting(definition)
    rewriting.suite(definition.body)
    if not rewriting.num_links:
        return None
    # Nothing of this is ever run: the function's code is taken out of it, with its cells given by name.
    factory = ast.parse(f"def factory({', '.join([*code.co_freevars, _CALL, _OPERATE])}): pass")
    factory.body[0].body = [definition]  # type: ignore[attr-defined]
    compiled = compile(
        ast.fix_missing_locations(factory),
        code.co_filename,
        "exec",
        flags=code.co_flags & _FUTURE_FLAGS,
        dont_inherit=True,
    )
    own = next(part for part in _code_objects(compiled) if part.co_name == code.co_name)
    cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
    cells |= {_CALL: types.CellType(_call_chained), _OPERATE: types.CellType(_operate)}
    copy = types.FunctionType(
        own.replace(co_qualname=code.co_qualname),
        function.__globals__,
        function.__name__,
        function.__defaults__,
        tuple(cells[name] for name in own.co_freevars),
    )
    copy.__kwdefaults__ = function.__kwdefaults__
    copy.__qualname__, copy.__module__ = function.__qualname__, function.__module__
    copy.__dict__.update(function.__dict__)
    return copy


def _is_plain(definition: ast.FunctionDef) -> bool:
    """Return whether a function runs from its beginning to its end, and does not look at its own names."""
    for node in ast.walk(definition):
        if isinstance(node, _SUSPENDS):
            return False
        name = getattr(node, "id", getattr(node, "attr", ""))
        # Names that begin so are others in a class than where the function is compiled again.
        if name in _LOOKS_AROUND or (name.startswith("__") and not name.endswith("__")):
            return False
    return True


class _Rewriting:
    """Finds the chains of a function and changes its tree.

    Args:
        definition: The function.

    Attributes:
        num_links: How many results go into the next operation and nowhere else.
    """

    def __init__(self, definition: ast.FunctionDef) -> None:
        self.num_links = 0
        self._seen_elsewhere = set(_names_seen_elsewhere(definition))

    def suite(self, statements: list[ast.stmt]) -> None:
        """Change some statements that follow one another, but for those within loops, `try` and `with`."""
        for statement, following in zip(statements, [*statements[1:], None], strict=False):
            end = following is not None and self._goes_on(statement, following)
            if isinstance(statement, ast.If):
                self.suite(statement.body)
                self.suite(statement.orelse)
            elif (value := _value_of(statement)) is not None:
                defers = end or isinstance(statement, ast.Return)
                self.num_links += end
                statement.value = self._change(value, defers=defers)  # type: ignore[attr-defined]

    def _goes_on(self, statement: ast.stmt, following: ast.stmt) -> bool:
        """Return whether the next statement uses what one stores, once and first, and nobody else ever does."""
        name = _find_stored(statement)
        value = _value_of(following)
        if name is None or name in self._seen_elsewhere or value is None:
            return False
        if not isinstance(following, ast.Return) and _find_stored(following) != name:
            return False
        spine = list(_spine(value))
        first = spine[-1]
        if len(spine) < 2 or not isinstance(first, ast.Name) or first.id != name:
            return False
        is_alone = sum(isinstance(node, ast.Name) and node.id == name for node in ast.walk(value)) == 1
        return is_alone and all(map(_is_simple_beside, spine[:-1]))

    def _change(self, node: ast.expr, *, defers: bool) -> ast.expr:
        """Return an expression whose calls and operators take what is deferred; `defers` lets it defer itself."""
        operand = _operand_of(node)
        if operand is None:
            return node
        is_link = _is_simple_beside(node) and _operand_of(operand) is not None
        inner = self._change(operand, defers=is_link)
        self.num_links += is_link
        how = ast.Constant(defers)
        if isinstance(node, ast.Call):
            helper, arguments = _CALL, [how, node.func, inner, *node.args[1:]]
            new = ast.Call(ast.Name(helper, ast.Load()), arguments, node.keywords)
        elif isinstance(node, ast.BinOp):
            symbol = ast.Constant(_OPERATORS[type(node.op)])
            new = ast.Call(ast.Name(_OPERATE, ast.Load()), [how, symbol, inner, node.right], [])
        else:
            return node
        return ast.copy_location(new, node)


def _names_seen_elsewhere(definition: ast.FunctionDef) -> Iterator[str]:
    """Yield names that functions within a function see, or that are not its own."""
    for node in ast.walk(definition):
        if isinstance(node, ast.Global | ast.Nonlocal):
            yield from node.names
        elif node is not definition and isinstance(node, _SCOPES):
            yield from (inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name))


def _find_stored(statement: ast.stmt) -> str | None:
    """Return the one name that a statement stores."""
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return None
    target = statement.targets[0]
    return target.id if isinstance(target, ast.Name) else None


def _value_of(statement: ast.stmt) -> ast.expr | None:
    is_one = isinstance(statement, ast.Return) or _find_stored(statement) is not None
    return statement.value if is_one else None  # type: ignore[attr-defined, no-any-return]


def _operand_of(node: ast.expr) -> ast.expr | None:
    """Return what a call or an operator takes first; None if it is no part of a chain."""
    if isinstance(node, ast.Call) and node.args and not isinstance(node.args[0], ast.Starred):
        return node.args[0]
    return node.left if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS else None


def _spine(node: ast.expr | None) -> Iterator[ast.expr]:
    """Yield an expression, what it takes first, what that takes first, and so on."""
    while node is not None:
        yield node
        node = _operand_of(node)


def _is_simple_beside(node: ast.expr) -> bool:
    """Return whether all but the first operand are constants, names and arithmetic with them, which change no array."""
    if isinstance(node, ast.Call):
        return all(
            map(_is_simple, [node.func, *node.args[1:], *(keyword.value for keyword in node.keywords)])
        )
    return isinstance(node, ast.BinOp) and _is_simple(node.right)


def _is_simple(node: ast.expr) -> bool:
    if isinstance(node, ast.Call):
        is_scalar = isinstance(node.func, ast.Attribute | ast.Name) and _last_name(node.func) in _SCALARS
        return is_scalar and not node.keywords and all(map(_is_simple, node.args))
    if not isinstance(node, _SIMPLE):
        return False
    return all(_is_simple(part) for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr))


def _last_name(node: ast.Attribute | ast.Name) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id


def _call_chained(
    defers: bool, function: Callable[..., Any], first: Any, /, *args: Any, **options: Any
) -> Any:
    """Call a function of a chain."""
    is_deferred = isinstance(first, Deferred)
    if defers or is_deferred:
        operation, later = getattr(function, _LATER, _NOT_MARKED)
        found = _attempt(later, first, *args, **options) if operation is function else None
        if found is not None:
            return found if defers else _compute(found)
    return function(_compute(first) if is_deferred else first, *args, **options)


def _compute(deferred: Deferred) -> Any:
    """Return what a chain gives, as the operations themselves do."""
    value = deferred.value()
    return as_tensor(value) if has_tensors() else value


def _attempt(later: Callable[..., Deferred | None], *args: object, **options: object) -> Deferred | None:
    try:
        return later(*args, **options)
    except Exception:
        # The operation itself says what is wrong.
        return None


def _operate(defers: bool, symbol: str, left: object, right: object, /) -> Any:
    """Apply an operator of a chain."""
    if isinstance(left, Deferred):
        found = left.operate(symbol, right)
        if found is not None:
            return found if defers else _compute(found)
        left = _compute(left)
    return _APPLIED[symbol](left, right)
