"""Statements that AutoGraph does not know, written as ones that it knows (core layer).

AutoGraph (`diastatic-malt` 2.15) refuses `for/else` and `while/else`, does not see the names that `except E as name`
binds, and loses the target of an assignment expression (`:=`): it either compiles the name as a read, or moves a
`while` condition into a function of its own, where the target becomes a local of that function.
"""

import ast
import itertools
from collections.abc import Iterator, Sequence

# What the wing has rewritten besides.
REWRITINGS: list[ast.NodeTransformer] = []
_SCOPES = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def desugar(node: ast.AST, operators: str) -> ast.AST:
    """Rewrite a function's syntax tree in place.

    Args:
        node: The tree of one function.
        operators: What the rewritten code calls the object whose `caught()` is the exception that is being handled.

    Returns:
        The tree, without `else` of loops, assignment expressions and names of caught exceptions. An assignment
        expression in a comprehension, in a lambda or behind the first comparison of a chain stays.
    """
    names = _fresh_names(node)
    rewritings: list[ast.NodeTransformer] = [
        # `else` before the assignments: those turn a test of `while` into a `break` that is none of the user's.
        _BindExceptions(operators),
        _LoopElse(names),
        _Assignments(names),
        *REWRITINGS,
    ]
    for rewriting in rewritings:
        node = rewriting.visit(node)
    return node


def _fresh_names(node: ast.AST) -> Iterator[str]:
    """Return names that the function does not use."""
    # Names of inner functions count as well: a `nonlocal` could reach them.
    used = {child.id for child in ast.walk(node) if isinstance(child, ast.Name)}
    return (name for i in itertools.count() if (name := f"stratax_local_{i}") not in used)


class _BindExceptions(ast.NodeTransformer):
    """Writes `except E as name:` as an assignment."""

    def __init__(self, operators: str) -> None:
        self.operators = operators

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.AST:
        self.generic_visit(node)
        if node.name is not None:
            call = ast.Call(ast.Attribute(ast.Name(self.operators, ast.Load()), "caught", ast.Load()), [], [])
            node.body.insert(0, _assign(node.name, call))
            node.name = None
        return node


class _LoopElse(ast.NodeTransformer):
    """Writes the `else` of a loop as an `if` on a flag that `break` clears."""

    def __init__(self, names: Iterator[str]) -> None:
        self.names = names

    def visit_For(self, node: ast.For) -> ast.AST | list[ast.stmt]:
        return self._without_else(node)

    def visit_While(self, node: ast.While) -> ast.AST | list[ast.stmt]:
        return self._without_else(node)

    def _without_else(self, node: ast.For | ast.While) -> ast.AST | list[ast.stmt]:
        self.generic_visit(node)
        if not node.orelse:
            return node
        flag, orelse = next(self.names), node.orelse
        breaks = _ClearAtBreak(flag)
        node.body = breaks.block(node.body)
        node.orelse = []
        # Without a `break` the `else` always runs.
        if not breaks.found:
            return [node, *orelse]
        return [_assign(flag, ast.Constant(True)), node, ast.If(_read(flag), orelse, [])]


class _ClearAtBreak(ast.NodeTransformer):
    """Clears a flag before each `break` that belongs to one loop."""

    def __init__(self, flag: str) -> None:
        self.flag = flag
        self.found = False

    def block(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        return [new for statement in body for new in _as_list(self.visit(statement))]

    def visit(self, node: ast.AST) -> ast.AST | list[ast.stmt]:
        if isinstance(node, ast.For | ast.While):
            # A `break` in the `else` of an inner loop ends this loop. One in its body does not.
            node.orelse = self.block(node.orelse)
            return node
        # A `break` in an inner function would be its own loop's.
        if isinstance(node, (*_DEFINITIONS, ast.expr)):
            return node
        if isinstance(node, ast.Break):
            self.found = True
            return [_assign(self.flag, ast.Constant(False)), node]
        return self.generic_visit(node)


class _Assignments(ast.NodeTransformer):
    """Writes assignment expressions as statements before the statement that they stand in."""

    def __init__(self, names: Iterator[str]) -> None:
        self.names = names

    def visit(self, node: ast.AST) -> ast.AST | list[ast.stmt]:
        """Visit the statements inside `node`, then take `node`'s own assignment expressions out."""
        if isinstance(node, ast.expr):
            return node
        self.generic_visit(node)
        match node:
            case ast.While() if _assigns(node.test):
                return self._while(node)
            case ast.If() if _assigns(node.test):
                return self._before(node, "test")
            case ast.For() if _assigns(node.iter):
                return self._before(node, "iter")
            case ast.With() if any(_assigns(item.context_expr) for item in node.items):
                return self._with(node)
            case ast.Expr() | ast.Return() | ast.Assign() if node.value is not None and _assigns(node.value):
                return self._before(node, "value")
            case ast.AnnAssign() if node.value is not None and _assigns(node.value):
                return self._before(node, "value")
            case ast.AugAssign() if _assigns(node.value):
                # Python reads the target first.
                before: list[ast.stmt] = []
                old = self._keep(self._current(node.target, before), before)
                value = self._take(node.value, before)
                return [*before, ast.Assign([node.target], ast.BinOp(old, node.op, value))]
        return node

    def _before(self, node: ast.stmt, field: str) -> list[ast.stmt]:
        before: list[ast.stmt] = []
        setattr(node, field, self._take(getattr(node, field), before))
        return [*before, node]

    def _while(self, node: ast.While) -> ast.AST:
        before: list[ast.stmt] = []
        test = self._take(node.test, before)
        leave = ast.If(ast.UnaryOp(ast.Not(), test), [ast.Break()], [])
        # The test moves into the body, where a name that it assigns is the function's local.
        node.test, node.body = ast.Constant(True), [*before, leave, *node.body]
        return node

    def _with(self, node: ast.With) -> list[ast.stmt]:
        """Rewrite `with a, b(x := 1): ...` as `with a:` around the assignment and `with b(x): ...`."""
        before: list[ast.stmt] = []
        number = next(i for i, item in enumerate(node.items) if _assigns(item.context_expr))
        outer, node.items = node.items[:number], node.items[number:]
        node.items[0].context_expr = self._take(node.items[0].context_expr, before)
        rest = self._with(node) if any(_assigns(item.context_expr) for item in node.items) else [node]
        return [ast.With(outer, [*before, *rest])] if outer else [*before, *rest]

    def _take(self, node: ast.expr, before: list[ast.stmt]) -> ast.expr:
        """Return `node` without assignment expressions; `before` gets what is computed before it, in order."""
        if not _assigns(node):
            return node
        match node:
            case ast.NamedExpr():
                value = self._keep(self._take(node.value, before), before)
                before.append(_assign(node.target.id, value))
                return value
            case ast.BoolOp():
                return self._short_circuit(node, before)
            case ast.IfExp():
                result = next(self.names)
                test = self._take(node.test, before)
                branches = [self._branch(result, value) for value in (node.body, node.orelse)]
                before.append(ast.If(test, *branches))
                return _read(result)
            case ast.Compare() if any(_assigns(each) for each in node.comparators[1:]):
                return node
        self._take_from_parts(node, before)
        return node

    def _short_circuit(self, node: ast.BoolOp, before: list[ast.stmt]) -> ast.expr:
        """Rewrite `a and (x := b)` as `result = a`, `if result: x = b; result = x`."""
        first, *rest = node.values
        result = next(self.names)
        before.append(_assign(result, self._take(first, before)))
        block = before
        for value in rest:
            go_on = _read(result) if isinstance(node.op, ast.And) else ast.UnaryOp(ast.Not(), _read(result))
            branch = ast.If(go_on, self._branch(result, value), [])
            block.append(branch)
            block = branch.body
        return _read(result)

    def _branch(self, result: str, value: ast.expr) -> list[ast.stmt]:
        block: list[ast.stmt] = []
        taken = self._take(value, block)
        return [*block, _assign(result, taken)]

    def _take_from_parts(self, node: ast.AST, before: list[ast.stmt]) -> None:
        """Take assignments out of a node's parts; what Python computes before the last of them is computed before."""
        parts = list(_parts(node))
        # Behind the last assignment nothing has to move: Python computes it afterwards anyway.
        last = max(i for i, (_, _, part) in enumerate(parts) if _assigns(part))
        for position, (owner, key, part) in enumerate(parts[: last + 1]):
            if not isinstance(part, ast.expr) or isinstance(part, ast.Starred | ast.Slice):
                if _assigns(part) or position < last:
                    self._take_all(part, before, everything=position < last)
                continue
            taken = self._take(part, before)
            _replace(owner, key, taken if position == last else self._keep(taken, before))

    def _take_all(self, node: ast.AST, before: list[ast.stmt], *, everything: bool) -> None:
        """Take assignments out of what is no value by itself: `*x`, `name=x`, `a:b`."""
        if not everything:
            self._take_from_parts(node, before)
            return
        for owner, key, part in list(_parts(node)):
            if isinstance(part, ast.expr) and not isinstance(part, ast.Starred | ast.Slice):
                _replace(owner, key, self._keep(self._take(part, before), before))
            else:
                self._take_all(part, before, everything=True)

    def _current(self, target: ast.Name | ast.Attribute | ast.Subscript, before: list[ast.stmt]) -> ast.expr:
        """Return the value of what an augmented assignment changes; compute object and index once."""
        match target:
            case ast.Name():
                return _read(target.id)
            case ast.Attribute():
                target.value = self._keep(target.value, before)
                return ast.Attribute(target.value, target.attr, ast.Load())
        target.value = self._keep(target.value, before)
        if not isinstance(target.slice, ast.Slice | ast.Tuple):
            target.slice = self._keep(target.slice, before)
        return ast.Subscript(target.value, target.slice, ast.Load())

    def _keep(self, value: ast.expr, before: list[ast.stmt]) -> ast.expr:
        """Compute `value` now and return what reads it later."""
        if isinstance(value, ast.Constant):
            return value
        name = next(self.names)
        before.append(_assign(name, value))
        return _read(name)


def _assigns(node: ast.AST) -> bool:
    """Return whether an expression assigns names of the function that it stands in."""
    if isinstance(node, ast.NamedExpr):
        return True
    if isinstance(node, _SCOPES):
        return False
    return any(_assigns(child) for child in ast.iter_child_nodes(node))


def _parts(node: ast.AST) -> Iterator[tuple[ast.AST, tuple[str, int | None], ast.AST]]:
    """Yield the parts of an expression in the order in which Python computes them, and where each stands."""
    if isinstance(node, ast.Dict):
        for i, (key, value) in enumerate(zip(node.keys, node.values, strict=True)):
            if key is not None:
                yield node, ("keys", i), key
            yield node, ("values", i), value
        return
    for field, value in ast.iter_fields(node):
        if isinstance(value, ast.expr | ast.keyword):
            yield node, (field, None), value
        elif isinstance(value, list):
            for i, each in enumerate(value):
                if isinstance(each, ast.expr | ast.keyword):
                    yield node, (field, i), each


def _replace(owner: ast.AST, key: tuple[str, int | None], value: ast.expr) -> None:
    field, index = key
    if index is None:
        setattr(owner, field, value)
    else:
        getattr(owner, field)[index] = value


def _assign(name: str, value: ast.expr) -> ast.Assign:
    return ast.Assign([ast.Name(name, ast.Store())], value)


def _read(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def _as_list(node: ast.AST | list[ast.stmt]) -> list[ast.stmt]:
    return node if isinstance(node, list) else [node]  # type: ignore[list-item]
