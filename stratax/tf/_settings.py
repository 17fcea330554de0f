"""What a program's settings are on one command line, read from its text (tf layer).

A program has ways that only some settings lead to: another optimizer, an export for phones. Given its arguments, what
flags and options are is known; a value keeps its name on its way through a program, mostly, and where all that a name
is ever bound to is one constant, it is that.
"""

import ast
import itertools
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from stratax.tf import _constants

_TRUE, _FALSE = frozenset({"true", "t", "1", "yes", "y"}), frozenset({"false", "f", "0", "no", "n"})
# Of what expressions consist whose value is known.
_PLAIN = (
    ast.Constant,
    ast.Name,
    ast.Attribute,
    ast.Subscript,
    ast.UnaryOp,
    ast.BoolOp,
    ast.Compare,
    ast.List,
    ast.Tuple,
    ast.Set,
    ast.expr_context,
    ast.Not,
    ast.boolop,
    ast.cmpop,
)


def find_settings(trees: Sequence[ast.Module], arguments: str) -> dict[str, Any]:
    """Return what names of a program are, where it is run with these arguments.

    Args:
        trees: The program's modules.
        arguments: What follows the program on the command line.

    Returns:
        Constants by `.name`, which stands for a name and for an attribute of it.
    """
    given = _Given(arguments)
    bound: dict[str, list[ast.expr | None]] = {}
    calls = _Calls(trees)
    for tree in trees:
        for node in ast.walk(tree):
            for name, value in _bindings(node, given, calls):
                bound.setdefault(name, []).append(value)
    return _settle(bound)


def _settle(bound: Mapping[str, Sequence[ast.expr | None]]) -> dict[str, Any]:
    """Return the names that have one value, of what they are bound to; None among it is what is not known."""
    known: dict[str, Any] = {}
    unknown = {name for name, values in bound.items() if not all(_is_plain(value, bound) for value in values)}
    is_settled = False
    while not is_settled:
        is_settled = True
        for name in bound.keys() - unknown:
            found = _values(bound[name], known)
            if len(found) > 1 or any(_names_of(value) & unknown for value in bound[name]):
                unknown.add(name)
                known.pop(f".{name}", None)
                is_settled = False
            elif found and f".{name}" not in known:
                known[f".{name}"] = found[0]
                is_settled = False
    return known


def _values(values: Iterable[ast.expr | None], known: Mapping[str, Any]) -> list[Any]:
    """Return the different constants that values are, as far as they are known yet."""
    found: list[Any] = []
    for value in values:
        one = _constants.UNKNOWN if value is None else _constants.evaluate(value, known)
        if one is not _constants.UNKNOWN and not any(
            type(one) is type(each) and one == each for each in found
        ):
            found.append(one)
    return found


def _is_plain(value: ast.expr | None, bound: Mapping[str, Any]) -> bool:
    """Return whether an expression is known once the names in it are."""
    if value is None or not _names_of(value) <= bound.keys():
        return False
    return all(isinstance(each, _PLAIN) for each in ast.walk(value))


def _names_of(value: ast.expr | None) -> set[str]:
    """Return the names in an expression; of `a.b.c`, the last."""
    if value is None:
        return set()
    name = _constants.name_of(value)
    if name is not None:
        return {name}
    return {
        name for each in ast.iter_child_nodes(value) if isinstance(each, ast.expr) for name in _names_of(each)
    }


def _bindings(node: ast.AST, given: "_Given", calls: "_Calls") -> Iterator[tuple[str, ast.expr | None]]:
    """Yield the names that a node binds, and to what; None where that is not known."""
    match node:
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                yield from _of_target(target, value)
        case ast.AnnAssign(target=target, value=value):
            yield from _of_target(target, value)
        case ast.AugAssign(target=target) | ast.NamedExpr(target=target):
            yield from _of_target(target, None)
        case ast.For(target=target) | ast.AsyncFor(target=target) | ast.comprehension(target=target):
            yield from _of_target(target, None)
        case ast.withitem(optional_vars=ast.expr() as target):
            yield from _of_target(target, None)
        case ast.alias(asname=str() as name):
            # Without another name it is bound in the other module.
            yield name, None
        case ast.Dict(keys=keys, values=values):
            for key, value in zip(keys, values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    yield key.value, value
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
            yield from _of_parameters(node)
        case ast.Call():
            yield from _of_call(node, given, calls)


def _of_target(target: ast.expr, value: ast.expr | None) -> Iterator[tuple[str, ast.expr | None]]:
    name = _constants.name_of(target)
    if name is not None:
        yield name, value
    match target:
        case ast.Tuple(elts=targets) | ast.List(elts=targets):
            for each in targets:
                yield from _of_target(each, None)
        case ast.Starred(value=inner):
            yield from _of_target(inner, None)


def _of_parameters(
    function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda,
) -> Iterator[tuple[str, ast.expr | None]]:
    """Yield the parameters with their defaults; what is given in calls stands there."""
    parameters = function.args
    by_place = [*parameters.posonlyargs, *parameters.args]
    defaults = [None] * (len(by_place) - len(parameters.defaults)) + parameters.defaults
    pairs = [*zip(by_place, defaults, strict=True)]
    pairs += zip(parameters.kwonlyargs, parameters.kw_defaults, strict=True)
    for parameter, default in pairs:
        if default is not None:
            yield parameter.arg, default
    for several in (parameters.vararg, parameters.kwarg):
        if several is not None:
            yield several.arg, None


def _of_call(call: ast.Call, given: "_Given", calls: "_Calls") -> Iterator[tuple[str, ast.expr | None]]:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if name.startswith("DEFINE_") and call.args and isinstance(call.args[0], ast.Constant):
        yield from _of_flag(call, name.removeprefix("DEFINE_"), given)
        return
    if name == "add_argument":
        yield from _of_option(call, given)
        return
    for keyword in call.keywords:
        if keyword.arg:
            yield keyword.arg, keyword.value
    arguments = call.args
    if name == "partial" and arguments:
        name, arguments = next(iter(_names_of(arguments[0])), ""), arguments[1:]
    for parameters in calls.parameters.get(name, ()):
        places = iter(parameters)
        for argument in arguments:
            if isinstance(argument, ast.Starred):
                yield from ((each, None) for each in places)
            elif (parameter := next(places, None)) is not None:
                yield parameter, argument


def _of_flag(call: ast.Call, kind: str, given: "_Given") -> Iterator[tuple[str, ast.expr | None]]:
    """Yield a flag of absl's, which is its default or what the command line says."""
    name = str(call.args[0].value)  # type: ignore[attr-defined]
    kinds = {"bool": bool, "boolean": bool, "integer": int, "float": float, "string": str, "enum": str}
    defaults = [each.value for each in call.keywords if each.arg == "default"] or call.args[1:2]
    found = given.find(name, kinds.get(kind), defaults[0] if defaults else ast.Constant(None))
    yield f"FLAGS.{name}", found
    # By its name alone, too: as what it is handed on as, or an attribute of flags that are called otherwise.
    yield name, found


def _of_option(call: ast.Call, given: "_Given") -> Iterator[tuple[str, ast.expr | None]]:
    """Yield an option of argparse's."""
    options = [each.value for each in call.args if isinstance(each, ast.Constant)]
    named = {each.arg: each.value for each in call.keywords}
    longest = max((str(each) for each in options), key=len, default="")
    destination = named.get("dest")
    name = longest.lstrip("-").replace("-", "_")
    if isinstance(destination, ast.Constant):
        name = str(destination.value)
    action = named.get("action")
    default = named.get("default", ast.Constant(None))
    if isinstance(action, ast.Constant) and action.value in ("store_true", "store_false"):
        is_given = any(given.has(str(each).lstrip("-")) for each in options)
        otherwise = named.get("default", ast.Constant(action.value == "store_false"))
        yield name, ast.Constant(action.value == "store_true") if is_given else otherwise
        return
    kind = {"int": int, "float": float, "str": str}.get(
        ast.unparse(named["type"]) if "type" in named else "str"
    )
    for each in options:
        if not str(each).startswith("-"):
            # By its place: what it is is not looked for.
            yield name, None
        elif given.has(str(each).lstrip("-")):
            yield name, given.find(str(each).lstrip("-"), kind, None)
            return
    yield name, default


class _Calls:
    """The parameters of a program's functions and classes, by name.

    Args:
        trees: The program's modules.
    """

    def __init__(self, trees: Iterable[ast.Module]) -> None:
        self.parameters: dict[str, list[list[str]]] = {}
        for tree in trees:
            self._read(tree, None)

    def _read(self, node: ast.AST, owner: str | None) -> None:
        for each in ast.iter_child_nodes(node):
            if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef):
                names = [parameter.arg for parameter in (*each.args.posonlyargs, *each.args.args)]
                name = owner if owner and each.name == "__init__" else each.name
                self.parameters.setdefault(name, []).append(names[1:] if owner else names)
                self._read(each, None)
            else:
                self._read(each, each.name if isinstance(each, ast.ClassDef) else owner)


class _Given:
    """The arguments of a command line.

    Args:
        arguments: What follows the program.
    """

    def __init__(self, arguments: str) -> None:
        self._values: dict[str, str | None] = {}
        words = shlex.split(arguments)
        for word, after in itertools.zip_longest(words, words[1:], fillvalue=""):
            if not word.startswith("-"):
                continue
            name, is_given, value = word.lstrip("-").partition("=")
            if not is_given and after and not after.startswith("-"):
                value = after
            self._values[name] = value if is_given or value else None

    def has(self, name: str) -> bool:
        """Return whether an option is given, under this name or with hyphens in it."""
        return name in self._values or name.replace("_", "-") in self._values

    def find(self, name: str, kind: type | None, default: ast.expr | None) -> ast.expr | None:
        """Return what an option is: the default if it is not given, None if that can't be told."""
        if kind is bool and f"no{name}" in self._values:
            return ast.Constant(False)
        if not self.has(name):
            return default
        text = self._values.get(name, self._values.get(name.replace("_", "-")))
        if kind is bool:
            if text is None or text.lower() in _TRUE:
                return ast.Constant(True)
            return ast.Constant(False) if text.lower() in _FALSE else ast.Constant(True)
        if kind is None or text is None:
            return None
        try:
            return ast.Constant(kind(text))
        except ValueError:
            return None
