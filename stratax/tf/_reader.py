"""Follows the names of TensorFlow through the text of a program (tf layer).

Names are followed through imports, aliases, simple assignments and calls. What is behind a name of `tf` is read from
the text of Stratax and Keras: nothing is imported for it, and the program is not run.
"""

import ast
import functools
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from stratax.tf import _constants, _missing, _names, _private, _sources

_TENSORFLOW = "tensorflow"
_OWN = "stratax.tf"
# What `stratax.tensorflow.keras2` lets classes of Keras take besides: those that have the first argument.
_KERAS2 = (
    ("Layer", "input_shape", frozenset({"batch_input_shape", "dynamic"})),
    ("BaseOptimizer", "learning_rate", frozenset({"lr", "decay", "jit_compile"})),
    ("ModelCheckpoint", "filepath", frozenset({"period", "options"})),
)
_EMPTY = _sources.SourceModule("")
# Programs import it, and use it for some of their settings.
_IMPORTABLE = frozenset({"tensorflow_hub"})


class Meaning(NamedTuple):
    """What a name or expression stands for.

    Attributes:
        path: Its name in TensorFlow, as `tf.keras.layers.Dense`.
        what: What is there; of an instance, its class.
        is_instance: Whether it is an instance of what is there.
    """

    path: str
    what: _sources.Definition
    is_instance: bool = False


_TF = Meaning("tf", _sources.SourceModule(_OWN))
# What `import tensorflow` gives a program of TensorFlow 1; names that are not there are those of the second.
_FIRST = Meaning("tf", _sources.SourceModule(f"{_OWN}.compat.v1"))


class Use(NamedTuple):
    """A place of a program that uses something of TensorFlow's.

    Attributes:
        line: The line.
        name: What is used, in full, such as `tf.lite` or `tf.nn.lrn(alpha=)`.
        others: Its names as an attribute of base classes.
        complaint: What is said about it if it is not there; None if it is.
        function: The name of the function that it stands in; empty for the program itself.
    """

    line: int
    name: str
    others: tuple[str, ...]
    complaint: str | None
    function: str


class ProgramReader(ast.NodeVisitor):
    """Collects what a program uses of TensorFlow.

    Args:
        space: What is known by names of earlier cells, which is added to.
        is_first: Whether `import tensorflow` gives the program TensorFlow 1's names.
        constants: The names that are known to be constants.

    Attributes:
        uses: What has been found.
        calls: By the name of each function, and "" for the program itself, the names that it calls.
    """

    def __init__(
        self, space: dict[str, Meaning], *, is_first: bool = False, constants: Mapping[str, Any] | None = None
    ) -> None:
        self.uses: list[Use] = []
        self.calls: dict[str, set[str]] = {}
        self._space = space
        self._function = ""
        self._constants = constants or {}
        self._tensorflow = _FIRST if is_first else _TF

    def visit_Import(self, node: ast.Import) -> None:
        """Follow `import tensorflow.x as y`."""
        for alias in node.names:
            path = _path_of(alias.name)
            root, _, _ = alias.name.partition(".")
            self._bind_name(alias.asname or root, None)
            if path is None and root in _IMPORTABLE:
                self._bind_name(alias.asname or root, Meaning(root, _EMPTY))
            elif path is None:
                self._find_library(node, alias.name)
            elif (known := self._resolve(node, path)) and alias.asname:
                self._bind_name(alias.asname, known)
            elif not alias.asname and _path_of(root):
                self._bind_name(root, self._tensorflow)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """Follow `from tensorflow.x import y`."""
        module = node.module or ""
        path = None if node.level else _path_of(module)
        if path is None and not node.level:
            self._find_library(node, module)
        for alias in node.names:
            known = None
            if path is not None and alias.name != "*":
                known = self._resolve(node, f"{path}.{alias.name}")
            elif (module, alias.name, node.level) == ("stratax", "tf", 0):
                known = _TF
            self._bind_name(alias.asname or alias.name, known)

    def visit_Assign(self, node: ast.Assign) -> None:
        """Follow `x = tf.y`."""
        self.visit(node.value)
        known = self._infer(node.value)
        for target in node.targets:
            self.visit(target)
            self._bind(target, known)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """Read a class, whose names are not those of the module."""
        outside = dict(self._space)
        self.generic_visit(node)
        self._restore(outside)
        self._bind_name(node.name, None)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> None:
        """Read a function, whose parameters hide names outside, and whose names end with it."""
        outside = dict(self._space)
        parameters = node.args
        given = (*parameters.posonlyargs, *parameters.args, *parameters.kwonlyargs)
        for parameter in (*given, parameters.vararg, parameters.kwarg):
            if parameter is not None:
                self._bind_name(parameter.arg, None)
        around, self._function = self._function, getattr(node, "name", "<lambda>")
        self.generic_visit(node)
        self._function = around
        self._restore(outside)
        if not isinstance(node, ast.Lambda):
            self._bind_name(node.name, None)

    visit_AsyncFunctionDef = visit_FunctionDef
    visit_Lambda = visit_FunctionDef

    def visit_Try(self, node: ast.Try) -> None:
        """Read what is tried: what is missing there is expected if something else is done then."""
        before = len(self.uses)
        for each in node.body:
            self.visit(each)
        if any(catches_missing(handler.type) for handler in node.handlers):
            self.uses[before:] = [use for use in self.uses[before:] if use.complaint is None]
        for other in (*node.handlers, *node.orelse, *node.finalbody):
            self.visit(other)

    def visit_If(self, node: ast.If) -> None:
        """Read a condition: what `hasattr` asks for is not missed, nor what a constant leaves out."""
        before = len(self.uses)
        self.visit(node.test)
        holds = _constants.is_true(node.test, self._constants)
        for each in (*(node.body if holds is not False else ()), *(node.orelse if holds is not True else ())):
            self.visit(each)
        asked = {
            call.args[1].value
            for call in ast.walk(node.test)
            if isinstance(call, ast.Call)
            and ast.unparse(call.func) == "hasattr"
            and len(call.args) == 2
            and isinstance(call.args[1], ast.Constant)
        }
        self.uses[before:] = [
            use for use in self.uses[before:] if use.complaint is None or not asked & set(use.name.split("."))
        ]

    def visit_For(self, node: ast.For | ast.comprehension) -> None:
        """Read a loop, whose variables hide other names."""
        self._bind(node.target, None)
        self.generic_visit(node)

    visit_comprehension = visit_For

    def visit_With(self, node: ast.With) -> None:
        """Read `with x as y`."""
        for item in node.items:
            if item.optional_vars is not None:
                self._bind(item.optional_vars, self._infer(item.context_expr))
        self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        """Note the use of an attribute."""
        self.visit(node.value)
        parent = self._infer(node.value)
        if parent is None:
            return
        name = f"{parent.path}.{node.attr}"
        others = tuple(f"{base}.{node.attr}" for base in _bases(parent))
        said = None if _has(parent, node.attr, others) else _describe_missing(parent, node.attr, others)
        self._note(node, name, said, others)

    def visit_Name(self, node: ast.Name) -> None:
        """Note the use of a name that was imported from TensorFlow."""
        known = self._infer(node)
        if known is not None and not known.is_instance and "." in known.path:
            self._note(node, known.path, None)

    def visit_Call(self, node: ast.Call) -> None:
        """Note the use of arguments."""
        self.generic_visit(node)
        called = self.calls.setdefault(self._function, set())
        if isinstance(node.func, ast.Name):
            called.add(node.func.id)
        elif ast.unparse(node.func).endswith("app.run"):
            # Of absl, or of TensorFlow 1: `main`, if it is given no other.
            given = [*node.args, *(keyword.value for keyword in node.keywords)]
            called |= {each.id for each in given if isinstance(each, ast.Name)} | {"main"}
        known = self._infer(node.func)
        if known is None or known.is_instance:
            return
        accepted = _arguments(known.what)
        bases = []
        if isinstance(node.func, ast.Attribute) and (owner := self._infer(node.func.value)):
            bases = [f"{base}.{node.func.attr}" for base in _bases(owner)]
        for keyword in node.keywords:
            if keyword.arg:
                name = f"{known.path}({keyword.arg}=)"
                said = None
                if accepted is not None and keyword.arg not in accepted:
                    said = _missing.sentence(name) or f"{known.path} has no argument {keyword.arg} here."
                # None and False are what an argument is without being given.
                if said or not (isinstance(keyword.value, ast.Constant) and not keyword.value.value):
                    self._note(node, name, said, tuple(f"{base}({keyword.arg}=)" for base in bases))

    def _infer(self, node: ast.expr) -> Meaning | None:
        match node:
            case ast.Name():
                return self._space.get(node.id)
            case ast.Attribute():
                parent = self._infer(node.value)
                return None if parent is None else _get(parent, node.attr)
            case ast.Call():
                called = self._infer(node.func)
                return None if called is None or called.is_instance else _result(called)
        return None

    def _resolve(self, node: ast.stmt, path: str) -> Meaning | None:
        known = self._tensorflow
        for part in path.split(".")[1:]:
            found = _get(known, part)
            if found is None:
                self._note(node, path, _describe_missing(known, part))
                return None
            known = found
        self._note(node, path, None)
        return known

    def _bind(self, target: ast.expr, known: Meaning | None) -> None:
        if isinstance(target, (ast.Tuple, ast.List)):
            for each in target.elts:
                self._bind(each, None)
        elif isinstance(target, ast.Starred):
            self._bind(target.value, None)
        elif isinstance(target, ast.Name):
            self._bind_name(target.id, known)

    def _bind_name(self, name: str, known: Meaning | None) -> None:
        self._space.pop(name, None)
        if known is not None:
            self._space[name] = known

    def _restore(self, space: dict[str, Meaning]) -> None:
        self._space.clear()
        self._space.update(space)

    def _find_library(self, node: ast.stmt, module: str) -> None:
        root, _, _ = module.partition(".")
        if said := _missing.sentence(root):
            self._note(node, root, said)

    def _note(
        self, node: ast.stmt | ast.expr, name: str, complaint: str | None, others: tuple[str, ...] = ()
    ) -> None:
        self.uses.append(Use(node.lineno, name, others, complaint, self._function))


def catches_missing(caught: ast.expr | None) -> bool:
    names = {each.id for each in ast.walk(caught) if isinstance(each, ast.Name)} if caught else {"Exception"}
    return bool(
        names & {"AttributeError", "ImportError", "ModuleNotFoundError", "Exception", "BaseException"}
    )


def _path_of(module: str) -> str | None:
    """Return TensorFlow's name of a module that a program imports; None if it is none of TensorFlow's."""
    for root in (_TENSORFLOW, _OWN):
        if module == root or module.startswith(f"{root}."):
            return f"tf{module.removeprefix(root)}"
    return None


def _get(parent: Meaning, name: str) -> Meaning | None:
    """Return what an attribute stands for; None if there is none."""
    path = f"{parent.path}.{name}"
    what = None if parent.what == _EMPTY else _sources.attribute(parent.what, name)
    if what is None and parent == _FIRST:
        return _get(_TF, name)
    if what is None and isinstance(parent.what, _sources.SourceModule):
        found = _private.place_within(path.removeprefix("tf."), parent.what.name)
        what = None if found is None else _sources.SourceModule(found)
    if what is None:
        return None
    # What an instance holds is no longer known by a name of TensorFlow's.
    if parent.is_instance and not isinstance(what, _sources.SourceFunction):
        return None
    return Meaning(path, what)


def _has(parent: Meaning, name: str, others: tuple[str, ...]) -> bool:
    if isinstance(parent.what, _sources.SourceModule):
        return _get(parent, name) is not None or name.startswith("__")
    if not isinstance(parent.what, _sources.Class):
        return True
    own = f"{parent.path}.{name}"
    if any(_missing.read().get(each) for each in (own, *others)):
        return False
    # Other objects get attributes when they are made, and classes of Keras by `stratax.tensorflow.keras2`.
    is_certain = _is_dataset(parent.what)
    return not is_certain or _sources.attribute(parent.what, name) is not None


def _describe_missing(parent: Meaning, name: str, others: tuple[str, ...] = ()) -> str:
    if isinstance(parent.what, _sources.SourceModule) and parent.what.name.startswith(_OWN):
        return _names.describe(parent.what.name, name, short=True)
    # Of a library that can be imported, what is said of it is said of what it has.
    named = [f"{parent.path}.{name}", *others, *({parent.path} & _IMPORTABLE)]
    found = [said for each in named if (said := _missing.sentence(each))]
    kind = "name" if isinstance(parent.what, _sources.SourceModule) else "method"
    return found[0] if found else f"{parent.path} has no {kind} {name} here."


def _bases(known: Meaning) -> Iterator[str]:
    """Yield the names that base classes of a class have in TensorFlow if they stand beside it or above."""
    if not isinstance(known.what, _sources.Class):
        return
    places = known.path.split(".")[:-1]
    for base in _sources.lineage(known.what):
        if isinstance(base, _sources.Class) and base != known.what:
            # In the module of the class, or in one around it, as `tf.estimator` is around `tf.estimator.tpu`.
            for length in range(len(places), 0, -1):
                yield ".".join([*places[:length], base.node.name])


def _result(called: Meaning) -> Meaning | None:
    """Return what a call gives: an instance of a class, or of a Dataset's methods another Dataset."""
    if isinstance(called.what, _sources.Class):
        return Meaning("tf.data.Dataset" if _is_dataset(called.what) else called.path, called.what, True)
    returns = called.what.node.returns if isinstance(called.what, _sources.SourceFunction) else None
    is_dataset = returns is not None and ast.unparse(returns).strip("'\"") == "Dataset"
    return Meaning("tf.data.Dataset", _dataset(), True) if is_dataset else None


def _is_dataset(what: _sources.Definition) -> bool:
    return isinstance(what, _sources.Class) and any(each == _dataset() for each in _sources.lineage(what))


@functools.cache
def _dataset() -> _sources.Definition:
    found = _sources.attribute(_sources.SourceModule(f"{_OWN}.data"), "Dataset")
    return _sources.UNKNOWN if found is None else found


@functools.cache
def _arguments(what: _sources.Definition) -> frozenset[str] | None:
    """Return the names of the arguments that a function or class takes; None if it may take any."""
    accepted = _sources.arguments(what)
    if accepted is None or not isinstance(what, _sources.Class):
        return accepted
    classes = {each.node.name for each in _sources.lineage(what) if isinstance(each, _sources.Class)}
    more = [names for name, first, names in _KERAS2 if name in classes and first in accepted]
    return accepted.union(*more)
