"""What a program for TensorFlow uses that Stratax does not have, read from its text (tf layer).

Names are followed through imports, aliases and simple assignments; the value behind a name of `tf` says whether there
is an attribute, a method or an argument. The program itself is not run.
"""

import ast
import dataclasses
import functools
import importlib
import inspect
import json
import pathlib
import types
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from stratax.tf import _missing, _names

_TENSORFLOW = "tensorflow"
_OWN = "stratax.tf"
# Arguments that Keras' classes take in addition to those that their signatures name.
_LAYER_ARGUMENTS = frozenset({"input_shape", "input_dim", "batch_input_shape", "dynamic"})
_OPTIMIZER_ARGUMENTS = frozenset({"lr", "decay", "jit_compile"})


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """Something that a program uses and Stratax does not have.

    Attributes:
        file: The program's file.
        cell: Of a notebook, the number of the cell among those with code, from 1; else None.
        line: The line in the file or cell, from 1.
        name: What is not there, in full, such as `tf.lite` or `tf.nn.lrn(alpha=)`.
        message: What is said about it, with what to write instead.
    """

    file: str
    cell: int | None
    line: int
    name: str
    message: str

    def place(self) -> str:
        """Return where it stands, as compilers write it."""
        cell = "" if self.cell is None else f"cell {self.cell}:"
        return f"{self.file}:{cell}{self.line}"


def check(paths: Sequence[str | pathlib.Path]) -> list[Finding]:
    """Return what programs use that Stratax does not have.

    Args:
        paths: Python files, notebooks, and folders of them.

    Returns:
        One finding for each line and name, in the files' order.
    """
    return [finding for path in paths for file in _files(pathlib.Path(path)) for finding in _check_file(file)]


def _files(path: pathlib.Path) -> list[pathlib.Path]:
    if not path.is_dir():
        return [path]
    found = (*path.rglob("*.py"), *path.rglob("*.ipynb"))
    # Copies that notebooks' servers keep, and installed packages.
    return sorted(file for file in found if not {".ipynb_checkpoints", "site-packages"} & set(file.parts))


def _check_file(path: pathlib.Path) -> list[Finding]:
    text = path.read_text("utf-8", errors="replace")
    if path.suffix != ".ipynb":
        return check_source(text, str(path))
    findings = []
    # One program: a name of one cell is known in those that follow.
    space: dict[str, _Known] = {}
    for number, cell in enumerate(_cells(text), 1):
        findings += check_source(_without_commands(cell), str(path), cell=number, space=space)
    return findings


def _cells(text: str) -> Iterator[str]:
    for cell in json.loads(text).get("cells", []):
        if cell.get("cell_type") == "code":
            yield "".join(cell["source"])


def _without_commands(cell: str) -> str:
    """Return a cell with its commands to the shell and the notebook left empty."""
    if cell.lstrip().startswith("%%"):
        return ""
    lines = []
    for line in cell.splitlines():
        bare = line.lstrip()
        is_command = bare.startswith(("%", "!", "?")) or bare.endswith("?")
        lines.append(line[: len(line) - len(bare)] + "pass" if is_command else line)
    return "\n".join(lines)


class _Known(NamedTuple):
    """What a name or expression stands for.

    Attributes:
        path: Its name in TensorFlow, as `tf.keras.layers.Dense`.
        value: What is there; None for an instance, of which only the class is known.
        instance_of: The class of an instance.
    """

    path: str
    value: Any
    instance_of: type | None = None


def check_source(
    text: str, file: str = "<program>", *, cell: int | None = None, space: "dict[str, _Known] | None" = None
) -> list[Finding]:
    """Return what the text of a program uses that Stratax does not have.

    Args:
        text: The program.
        file: What it is called in the findings.
        cell: The number of a notebook's cell.
        space: What is known by names of earlier cells, which is added to.
    """
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        message = f"This is no Python 3 that can be read: {error.msg}."
        return [Finding(file=file, cell=cell, line=error.lineno or 1, name="syntax", message=message)]
    reader = _Reader({} if space is None else space)
    reader.visit(tree)
    unique = dict.fromkeys(reader.found)
    return [
        Finding(file=file, cell=cell, line=line, name=name, message=message) for line, name, message in unique
    ]


class _Reader(ast.NodeVisitor):
    """Follows names through a program."""

    def __init__(self, space: dict[str, _Known]) -> None:
        self.found: list[tuple[int, str, str]] = []
        self._space = space

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            path = _path_of(alias.name)
            self._space.pop((alias.asname or alias.name).split(".")[0], None)
            if path is None:
                self._find_library(node, alias.name)
                continue
            known = self._resolve(node, path)
            if alias.asname and known:
                self._space[alias.asname] = known
            elif not alias.asname:
                root = _path_of(alias.name.split(".")[0])
                if root:
                    self._space[alias.name.split(".")[0]] = _Known("tf", importlib.import_module(_OWN))

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        module = node.module or ""
        path = None if node.level else _path_of(module)
        if path is None:
            if not node.level:
                self._find_library(node, module)
            for alias in node.names:
                name = alias.asname or alias.name
                is_own = not node.level and module == "stratax" and alias.name == "tf"
                if is_own:
                    self._space[name] = _Known("tf", importlib.import_module(_OWN))
                else:
                    self._space.pop(name, None)
            return
        for alias in node.names:
            name = alias.asname or alias.name
            self._space.pop(name, None)
            known = None if alias.name == "*" else self._resolve(node, f"{path}.{alias.name}")
            if known:
                self._space[name] = known

    def visit_Assign(self, node: ast.Assign) -> None:
        self.visit(node.value)
        known = self._infer(node.value)
        for target in node.targets:
            self._bind(target, known)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> None:
        # Names that are parameters hide those outside, and what is bound inside ends with the function.
        outside = dict(self._space)
        arguments = node.args
        for parameter in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
            self._space.pop(parameter.arg, None)
        self.generic_visit(node)
        self._space.clear()
        self._space.update(outside)

    visit_AsyncFunctionDef = visit_FunctionDef
    visit_Lambda = visit_FunctionDef

    def visit_Try(self, node: ast.Try) -> None:
        before = len(self.found)
        for each in node.body:
            self.visit(each)
        # What is not there is expected, and something else is done then.
        if any(_catches_missing(handler.type) for handler in node.handlers):
            del self.found[before:]
        for other in (*node.handlers, *node.orelse, *node.finalbody):
            self.visit(other)

    def visit_For(self, node: ast.For) -> None:
        self._bind(node.target, None)
        self.generic_visit(node)

    def visit_With(self, node: ast.With) -> None:
        for item in node.items:
            if item.optional_vars is not None:
                self._bind(item.optional_vars, self._infer(item.context_expr))
        self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        parent = self._infer(node.value)
        if parent is None:
            self.visit(node.value)
        elif parent.instance_of is not None:
            self.visit(node.value)
            self._find_method(node, parent)
        elif isinstance(parent.value, (types.ModuleType, type)) and _get(parent, node.attr) is None:
            self._add(node, f"{parent.path}.{node.attr}", _said(parent, node.attr))
        else:
            self.visit(node.value)

    def visit_Call(self, node: ast.Call) -> None:
        self.generic_visit(node)
        known = self._infer(node.func)
        if known is None or known.value is None:
            return
        accepted = _arguments(known.value)
        for keyword in node.keywords:
            if accepted is not None and keyword.arg and keyword.arg not in accepted:
                name = f"{known.path}({keyword.arg}=)"
                said = _missing.sentence(name) or f"{known.path} has no argument {keyword.arg} here."
                self._add(node, name, said)

    def _bind(self, target: ast.expr, known: _Known | None) -> None:
        for each in ast.walk(target):
            if isinstance(each, ast.Name):
                self._space.pop(each.id, None)
        if isinstance(target, ast.Name) and known is not None:
            self._space[target.id] = known

    def _infer(self, node: ast.expr) -> _Known | None:
        if isinstance(node, ast.Name):
            return self._space.get(node.id)
        if isinstance(node, ast.Attribute):
            parent = self._infer(node.value)
            return None if parent is None or parent.instance_of else _get(parent, node.attr)
        if isinstance(node, ast.Call):
            return self._infer_call(node)
        return None

    def _infer_call(self, node: ast.Call) -> _Known | None:
        dataset = _dataset()
        if isinstance(node.func, ast.Attribute):
            parent = self._infer(node.func.value)
            # Methods of datasets give datasets; of other methods nothing is known.
            if parent is not None and (parent.instance_of or parent.value) is dataset:
                is_dataset = node.func.attr in _GIVE_DATASETS
                return _Known("tf.data.Dataset", None, dataset) if is_dataset else None
        function = self._infer(node.func)
        if function is not None and inspect.isclass(function.value) and issubclass(function.value, dataset):
            return _Known("tf.data.Dataset", None, dataset)
        return None

    def _resolve(self, node: ast.stmt, path: str) -> _Known | None:
        known: _Known | None = _Known("tf", importlib.import_module(_OWN))
        for part in path.split(".")[1:]:
            parent, known = known, _get(known, part) if known else None
            if parent is not None and known is None:
                self._add(node, path, _said(parent, part))
                return None
        return known

    def _find_method(self, node: ast.Attribute, parent: _Known) -> None:
        if not hasattr(parent.instance_of, node.attr):
            name = f"{parent.path}.{node.attr}"
            self._add(node, name, _missing.sentence(name) or f"{parent.path} has no method {node.attr} here.")

    def _find_library(self, node: ast.stmt, module: str) -> None:
        if said := _missing.sentence(module.split(".")[0]):
            self._add(node, module.split(".")[0], said)

    def _add(self, node: ast.stmt | ast.expr, name: str, message: str) -> None:
        self.found.append((node.lineno, name, message))


def _catches_missing(caught: ast.expr | None) -> bool:
    names = {each.id for each in ast.walk(caught) if isinstance(each, ast.Name)} if caught else {"Exception"}
    return bool(
        names & {"AttributeError", "ImportError", "ModuleNotFoundError", "Exception", "BaseException"}
    )


# Of `tf.data.Dataset`: those that give something else are left out.
_GIVE_DATASETS = frozenset(
    (
        *("apply", "batch", "cache", "concatenate", "enumerate", "filter", "flat_map", "from_generator"),
        *(
            "from_tensor_slices",
            "from_tensors",
            "interleave",
            "list_files",
            "map",
            "padded_batch",
            "prefetch",
        ),
        *("range", "repeat", "shard", "shuffle", "skip", "take", "unbatch", "window", "with_options", "zip"),
    )
)


@functools.cache
def _dataset() -> type:
    return importlib.import_module(_OWN).data.Dataset


def _path_of(module: str) -> str | None:
    """Return TensorFlow's name of a module that a program imports; None if it is none of TensorFlow's."""
    for root in (_TENSORFLOW, _OWN):
        if module == root or module.startswith(f"{root}."):
            return f"tf{module.removeprefix(root)}"
    return None


def _get(parent: _Known, name: str) -> _Known | None:
    """Return what an attribute stands for; None if there is none."""
    path = f"{parent.path}.{name}"
    try:
        return _Known(path, getattr(parent.value, name))
    except AttributeError:
        pass
    if isinstance(parent.value, types.ModuleType):
        try:
            return _Known(path, importlib.import_module(f"{parent.value.__name__}.{name}"))
        except ImportError:
            return None
    return None


def _said(parent: _Known, name: str) -> str:
    if isinstance(parent.value, types.ModuleType) and parent.value.__name__.startswith(_OWN):
        return _names.describe(parent.value.__name__, name, short=True)
    return _missing.sentence(f"{parent.path}.{name}") or f"{parent.path} has no {name} here."


def _arguments(value: Any) -> frozenset[str] | None:
    """Return the names of the arguments that a function or class takes; None if it takes any."""
    if inspect.isclass(value):
        return _arguments_of_class(value)
    try:
        parameters = inspect.signature(value).parameters
    except (TypeError, ValueError):
        return None
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        return None
    return frozenset(parameters)


def _arguments_of_class(cls: type) -> frozenset[str] | None:
    import keras

    more = frozenset[str]()
    if issubclass(cls, keras.Layer) and not issubclass(cls, keras.Model):
        more = _LAYER_ARGUMENTS
    elif issubclass(cls, keras.Optimizer):
        more = _OPTIMIZER_ARGUMENTS
    names: set[str] = set()
    for base in cls.__mro__:
        if "__init__" not in vars(base):
            continue
        try:
            parameters = inspect.signature(vars(base)["__init__"]).parameters
        except (TypeError, ValueError):
            return None
        names |= set(parameters)
        if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
            return frozenset(names | more)
    # Whoever is last takes any names, and refuses those that it does not know.
    return frozenset(names | more) if more else None
