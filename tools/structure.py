"""Measure how the code is built: sizes, annotations, comments, imports, tests. Run as `python -m tools.structure`.

The table compares two states of the repository, or this package with another one; no figure in it is a verdict:
`python -m tools.structure --package stratax --root ../other-checkout`. The body of a function starts at its first
statement behind the docstring, and nested functions count in their parent.
"""

import argparse
import ast
import io
import re
import statistics
import subprocess
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef

_LONG_MODULE, _SHORT_MODULE, _LONG_BODY, _COMPLEX, _SHORT_DOCSTRING = 500, 60, 50, 10, 16
_BRANCHES = (
    ast.If,
    ast.For,
    ast.While,
    ast.IfExp,
    ast.ExceptHandler,
    ast.comprehension,
    ast.BoolOp,
    ast.Assert,
    ast.With,
)
_PARTICIPLES = frozenset(
    {
        "begun",
        "bound",
        "broken",
        "built",
        "caught",
        "chosen",
        "done",
        "drawn",
        "driven",
        "fed",
        "found",
        "frozen",
        "given",
        "gone",
        "held",
        "hidden",
        "kept",
        "known",
        "left",
        "lost",
        "made",
        "overridden",
        "rebuilt",
        "rewritten",
        "said",
        "sent",
        "shown",
        "shrunk",
        "taken",
        "told",
        "thrown",
        "unknown",
        "withdrawn",
        "worn",
        "written",
    }
)
_NO_PARTICIPLES = frozenset({"embed", "exceed", "feed", "need", "proceed", "seed", "speed", "shed"})
_MUTABLE_MAKERS = {
    "dict",
    "list",
    "set",
    "defaultdict",
    "OrderedDict",
    "WeakKeyDictionary",
    "WeakValueDictionary",
    "WeakSet",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One file: its dotted module name, text and syntax tree, with its functions outside of other functions."""

    path: Path
    module: str
    text: str
    tree: ast.Module
    functions: list[FunctionNode] = field(default_factory=list)

    @property
    def package(self) -> str:
        """The module's package; a package's `__init__` is its own."""
        return self.module if self.path.name == "__init__.py" else self.module.rpartition(".")[0]

    def walk(self, *kinds: type[ast.AST]) -> Iterator[ast.AST]:
        """Yield every node of these kinds."""
        return (node for node in ast.walk(self.tree) if isinstance(node, kinds))


def read_sources(root: Path, package: str) -> list[Source]:
    """Parse every Python file of a package below `root`."""
    found = []
    for path in sorted((root / package).rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
        module = ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")
        found.append(
            Source(path=path, module=module, text=text, tree=tree, functions=list(_outer_functions(tree)))
        )
    return found


def _outer_functions(node: ast.AST) -> Iterator[FunctionNode]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, FunctionNode):
            yield child
        else:
            yield from _outer_functions(child)


def measure(root: Path, package: str) -> dict[str, str]:
    """Return the table's rows: what is measured, and the figures as text."""
    sources = read_sources(root, package)
    rows: dict[str, str] = {}
    for part in (_sizes, _imports, _annotations, _texts, _signatures, _classes):
        rows |= part(sources, package)
    return rows | _tests(sources, root, package) | _commits(root)


def _sizes(sources: list[Source], package: str) -> dict[str, str]:
    lines = [_num_lines(source) for source in sources]
    functions = [function for source in sources for function in source.functions]
    bodies = [_body_lines(function) for function in functions]
    complexities = [_complexity(function) for function in functions]
    once, private = _private_used_once(sources)
    return {
        "source files / lines": f"{len(sources)} / {sum(lines):,}",
        "module lines median / p90 / max": _spread(lines),
        f"modules > {_LONG_MODULE} lines, %": _percent(sum(n > _LONG_MODULE for n in lines), len(lines)),
        f"modules < {_SHORT_MODULE} lines, %": _percent(sum(n < _SHORT_MODULE for n in lines), len(lines)),
        "function body median / p90 / max": _spread(bodies),
        f"bodies > {_LONG_BODY} lines": str(sum(n > _LONG_BODY for n in bodies)),
        "functions per kloc": f"{1000 * len(functions) / sum(lines):.0f}",
        "private functions used exactly once, %": f"{_percent(once, private)} ({once} of {private})",
        f"complexity > {_COMPLEX}, % / max": (
            f"{_percent(sum(n > _COMPLEX for n in complexities), len(complexities))} / {max(complexities, default=0)}"
        ),
    }


def _num_lines(source: Source) -> int:
    return source.text.count("\n")


def _body_lines(function: FunctionNode) -> int:
    body = function.body[1:] if ast.get_docstring(function, clean=False) is not None else function.body
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


def _complexity(function: FunctionNode) -> int:
    return 1 + sum(isinstance(node, _BRANCHES) for node in ast.walk(function))


def _private_used_once(sources: list[Source]) -> tuple[int, int]:
    once = private = 0
    for source in sources:
        words = Counter(re.findall(r"\w+", source.text))
        names = [f.name for f in source.functions if f.name.startswith("_") and not f.name.endswith("__")]
        private += len(names)
        once += sum(words[name] == 2 for name in names)  # Its definition, and one use.
    return once, private


def _imports(sources: list[Source], package: str) -> dict[str, str]:
    modules = {source.module for source in sources}
    shown: dict[str, set[str]] = {}
    late = 0
    private: Counter[str] = Counter()
    for source in sources:
        shown[source.module] = _imported(_top_imports(source.tree), source, modules)
        late += sum(
            bool(_imported([node], source, modules))
            for function in source.functions
            for node in ast.walk(function)
            if isinstance(node, ast.Import | ast.ImportFrom)
        )
        private[package] += _num_private_imports(source, package)
    return {
        "runtime import cycles, modules": str(len(_in_cycles(shown))),
        "... with types and late imports": str(len(modules_in_circles(sources))),
        "first-party imports inside functions": str(late),
        "imports of private modules across packages": str(private[package]),
        "lines importing keras.src / jax._src, files": (
            f"{_num_lines_with(sources, 'keras.src')} / {_num_lines_with(sources, 'jax._src')}"
        ),
        "module-level mutable objects": str(sum(_num_mutable(source) for source in sources)),
    }


def _top_imports(tree: ast.Module) -> Iterator[ast.AST]:
    return (node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom))


def _imported(nodes: Iterable[ast.AST], source: Source, modules: set[str]) -> set[str]:
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(node, source)
            found |= {
                f"{base}.{alias.name}" if f"{base}.{alias.name}" in modules else base for alias in node.names
            }
    return (found & modules) - {source.module}


def _absolute(node: ast.ImportFrom, source: Source) -> str:
    if not node.level:
        return node.module or ""
    base = source.package.split(".")
    return ".".join([*base[: len(base) - node.level + 1], *([node.module] if node.module else [])])


def _num_private_imports(source: Source, package: str) -> int:
    """Count imports of another package's `_private` modules or names; the root's own modules belong to all."""
    own = source.module.split(".")[:2]
    count = 0
    for node in source.walk(ast.ImportFrom):
        parts = _absolute(node, source).split(".")  # type: ignore[arg-type]
        if parts[0] != package or len(parts) < 2 or parts[:2] == own or parts[1].startswith("_"):
            continue
        names = [alias.name for alias in node.names]  # type: ignore[attr-defined]
        count += any(part.startswith("_") for part in [*parts[1:], *names])
    return count


def _num_lines_with(sources: list[Source], inside: str) -> str:
    hits = [
        len(re.findall(rf"^\s*(?:from|import) {re.escape(inside)}\b", source.text, re.MULTILINE))
        for source in sources
    ]
    return f"{sum(hits)} in {sum(map(bool, hits))}"


def _num_mutable(source: Source) -> int:
    values = [node.value for node in source.tree.body if isinstance(node, ast.Assign | ast.AnnAssign)]
    targets = [_target(node) for node in source.tree.body if isinstance(node, ast.Assign | ast.AnnAssign)]
    return sum(
        _is_mutable(value) for name, value in zip(targets, values, strict=True) if name and not name.isupper()
    )


def _target(node: ast.Assign | ast.AnnAssign) -> str:
    target = node.targets[0] if isinstance(node, ast.Assign) else node.target
    name = target.id if isinstance(target, ast.Name) else ""
    return "" if name.startswith("__") else name


def _is_mutable(value: ast.expr | None) -> bool:
    if isinstance(value, ast.Call):
        function = value.func
        name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        return name in _MUTABLE_MAKERS
    return isinstance(value, ast.Dict | ast.List | ast.Set)


def modules_in_circles(sources: list[Source]) -> set[str]:
    """Return the modules from which imports lead back to themselves, those for types and in functions included."""
    modules = {source.module for source in sources}
    return _in_cycles(
        {
            source.module: _imported(source.walk(ast.Import, ast.ImportFrom), source, modules)
            for source in sources
        }
    )


def _in_cycles(graph: dict[str, set[str]]) -> set[str]:
    return {module for module in graph if module in _reachable(graph, graph[module])}


def _reachable(graph: dict[str, set[str]], starts: Iterable[str]) -> set[str]:
    seen: set[str] = set()
    waiting = list(starts)
    while waiting:
        module = waiting.pop()
        if module not in seen:
            seen.add(module)
            waiting.extend(graph.get(module, ()))
    return seen


def _annotations(sources: list[Source], package: str) -> dict[str, str]:
    arguments = _all_arguments(sources)
    returns = [
        function.returns  # type: ignore[attr-defined]
        for source in sources
        for function in source.walk(ast.FunctionDef, ast.AsyncFunctionDef)
    ]
    num_any = sum(len(re.findall(r"\bAny\b", source.text)) for source in sources)
    kloc = sum(map(_num_lines, sources)) / 1000
    return {
        "arguments / returns annotated, %": (
            f"{_percent(sum(a.annotation is not None for a in arguments), len(arguments))}"
            f" / {_percent(sum(r is not None for r in returns), len(returns))}"
        ),
        "... annotated exactly `Any`, % of args": _percent(*any_arguments(sources)),
        "`Any` per kloc": f"{num_any / kloc:.0f} ({num_any:,})",
        "`type: ignore` / `noqa`": f"{_occurrences(sources, '# type: ignore')} / {_occurrences(sources, '# noqa')}",
    }


def any_arguments(sources: list[Source]) -> tuple[int, int]:
    """Return how many arguments are annotated exactly `Any`, and how many arguments there are."""
    arguments = _all_arguments(sources)
    exactly = sum(isinstance(a.annotation, ast.Name) and a.annotation.id == "Any" for a in arguments)
    return exactly, len(arguments)


def _all_arguments(sources: list[Source]) -> list[ast.arg]:
    return [
        argument
        for source in sources
        for function in source.walk(ast.FunctionDef, ast.AsyncFunctionDef)
        for argument in _arguments(function)  # type: ignore[arg-type]
    ]


def _arguments(function: FunctionNode) -> list[ast.arg]:
    arguments = function.args
    found = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    found += [extra for extra in (arguments.vararg, arguments.kwarg) if extra is not None]
    return [argument for argument in found if argument.arg not in ("self", "cls")]


def _occurrences(sources: list[Source], text: str) -> int:
    return sum(source.text.count(text) for source in sources)


def _texts(sources: list[Source], package: str) -> dict[str, str]:
    lines = sum(map(_num_lines, sources))
    documented = [
        node
        for source in sources
        for node in source.walk(ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
        if ast.get_docstring(node) is not None  # type: ignore[arg-type]
    ]
    public = [
        node
        for source in sources
        for node in source.walk(ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
        if not node.name.startswith("_")  # type: ignore[attr-defined]
    ]
    docstring_lines = sum(_docstring_lines(node) for node in documented)
    short = [node for node in documented if len(ast.get_docstring(node) or "") <= _SHORT_DOCSTRING]  # type: ignore[arg-type]
    told = sum(ast.get_docstring(node) is not None for node in public)  # type: ignore[arg-type]
    modules = sum(ast.get_docstring(source.tree) is not None for source in sources)
    kloc = lines / 1000
    return {
        "TODO per kloc / asserts per kloc": (
            f"{_occurrences(sources, 'TODO') / kloc:.1f} / "
            f"{sum(len(list(source.walk(ast.Assert))) for source in sources) / kloc:.1f}"
        ),
        "docstring share of lines, %": _percent(docstring_lines, lines),
        "comment share, %": _percent(sum(_comment_lines(source) for source in sources), lines),
        "modules with docstring, %": _percent(modules, len(sources)),
        "public definitions with docstring, %": _percent(told, len(public)),
        f"docstrings of at most {_SHORT_DOCSTRING} characters": str(len(short)),
    }


def _docstring_lines(node: ast.AST) -> int:
    statement = node.body[0]  # type: ignore[attr-defined]
    return statement.end_lineno - statement.lineno + 1


def _comment_lines(source: Source) -> int:
    tokens = tokenize.generate_tokens(io.StringIO(source.text).readline)
    comments = {
        token.start[0]
        for token in tokens
        if token.type == tokenize.COMMENT and not _is_directive(token.string)
    }
    return len(comments)


def _is_directive(comment: str) -> bool:
    return re.match(r"#\s*(type: ignore|noqa|Copyright|Licensed)", comment) is not None


def _signatures(sources: list[Source], package: str) -> dict[str, str]:
    functions = [node for source in sources for node in source.walk(ast.FunctionDef, ast.AsyncFunctionDef)]
    keyword_only = sum(bool(function.args.kwonlyargs) for function in functions)  # type: ignore[attr-defined]
    calls = [node for source in sources for node in source.walk(ast.Call)]
    kloc = sum(map(_num_lines, sources)) / 1000
    own = [
        node
        for source in sources
        if not source.module.startswith(f"{package}.tf")
        for node in source.walk(ast.FunctionDef, ast.AsyncFunctionDef)
    ]
    positional = sum(_is_bool(a) for f in own for a in [*f.args.posonlyargs, *f.args.args])  # type: ignore[attr-defined]
    keyword = sum(_is_bool(a) for f in own for a in f.args.kwonlyargs)  # type: ignore[attr-defined]
    names = Counter(_called(call) for call in calls)  # type: ignore[arg-type]
    defaults = sum(_called(call) == "getattr" and len(call.args) == 3 for call in calls)  # type: ignore[arg-type,attr-defined]
    return {
        "functions with keyword-only arguments, %": _percent(keyword_only, len(functions)),
        "positional `bool` / keyword-only `bool` (without tf)": f"{positional} / {keyword}",
        "isinstance per kloc": f"{names['isinstance'] / kloc:.0f}",
        "hasattr / 3-argument getattr": f"{names['hasattr']} / {defaults}",
    }


def _is_bool(argument: ast.arg) -> bool:
    return isinstance(argument.annotation, ast.Name) and argument.annotation.id == "bool"


def _called(call: ast.Call) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else ""


def _classes(sources: list[Source], package: str) -> dict[str, str]:
    classes = [node for source in sources for node in source.walk(ast.ClassDef)]
    methods = {node.name: sum(isinstance(n, FunctionNode) for n in node.body) for node in classes}  # type: ignore[attr-defined]
    top = sorted(methods.items(), key=lambda item: -item[1])[:3]
    decorators = [ast.unparse(d) for node in classes for d in node.decorator_list]  # type: ignore[attr-defined]
    bases = [ast.unparse(base) for node in classes for base in node.bases]  # type: ignore[attr-defined]
    raises = [node for source in sources for node in source.walk(ast.Raise) if isinstance(node.exc, ast.Call)]  # type: ignore[attr-defined]
    echo = sum("Received" in ast.unparse(node) for node in raises)
    return {
        "most methods in a class": ", ".join(f"{name} {count}" for name, count in top),
        "dataclasses / ABCs / Protocols": (
            f"{sum('dataclass' in d for d in decorators)} / {sum(b in ('ABC', 'abc.ABC') for b in bases)}"
            f" / {sum(b.split('[')[0] in ('Protocol', 'typing.Protocol') for b in bases)}"
        ),
        'raises that say "Received" in place, %': _percent(echo, len(raises)),
    }


def _tests(sources: list[Source], root: Path, package: str) -> dict[str, str]:
    tests = read_sources(root, "tests") if (root / "tests").is_dir() else []
    paths = {test.path.relative_to(root / "tests") for test in tests}
    names = {path.name for path in paths}
    subjects = [source for source in sources if source.path.name != "__init__.py"]
    same = mirrored = 0
    for source in subjects:
        name = f"test_{source.path.name.removeprefix('_')}"
        same += name in names
        mirrored += source.path.relative_to(root / package).parent / name in paths
    raising = [
        call for test in tests for call in test.walk(ast.Call) if ast.unparse(call.func).endswith("raises")
    ]  # type: ignore[attr-defined]
    matched = sum(any(keyword.arg == "match" for keyword in call.keywords) for call in raising)  # type: ignore[attr-defined]
    lines = private_imports(package)
    private = [len(lines.findall(test.text)) for test in tests]
    return {
        "raises in tests with `match=`": f"{matched} of {len(raising)}",
        "test lines / source lines": f"{sum(map(_num_lines, tests)) / sum(map(_num_lines, sources)):.2f}",
        "same-name test / at the mirrored path, %": (
            f"{_percent(same, len(subjects))} / {_percent(mirrored, len(subjects))}"
        ),
        "... at the mirrored path, doors left out, %": _percent(*mirrored_modules(root, package)),
        "private imports in tests": f"{sum(private)} lines in {sum(map(bool, private))} of {len(tests)} files",
        "... of modules that are not the test's subject": str(other_private_imports(root, package)),
    }


def class_names_of_several_modules(sources: list[Source]) -> set[str]:
    """Return the names of public classes, also of those in functions, that more than one module defines."""
    modules: dict[str, set[str]] = {}
    for source in sources:
        for node in source.walk(ast.ClassDef):
            modules.setdefault(node.name, set()).add(source.module)  # type: ignore[attr-defined]
    return {name for name, found in modules.items() if len(found) > 1 and not name.startswith("_")}


def participle_functions(sources: list[Source]) -> list[str]:
    """Return the functions and methods, also those in functions, whose name begins with a participle, as `module.name`.

    A participle ends in `-ed` or is one of `_PARTICIPLES`. Properties are left out: they may be called by one.
    """
    return [
        f"{source.module}.{node.name}"  # type: ignore[attr-defined]
        for source in sources
        for node in source.walk(ast.FunctionDef, ast.AsyncFunctionDef)
        if _begins_with_participle(node.name) and not _is_property(node)  # type: ignore[attr-defined]
    ]


def _begins_with_participle(name: str) -> bool:
    word = name.lstrip("_").partition("_")[0]
    return word in _PARTICIPLES or (word.endswith("ed") and word not in _NO_PARTICIPLES)


def _is_property(node: ast.AST) -> bool:
    decorators = [ast.unparse(each) for each in node.decorator_list]  # type: ignore[attr-defined]
    return any(re.search(r"property|\.setter$|\.getter$|overload", each) for each in decorators)


def mirrored_modules(root: Path, package: str) -> tuple[int, int]:
    """Return how many modules have a test at the mirrored path, and how many modules there are without doors."""
    paths = [path for path in (root / package).rglob("*.py") if not _is_door(path)]
    return sum(_test_of(root, package, path).exists() for path in paths), len(paths)


def _is_door(path: Path) -> bool:
    return path.name == "__init__.py" or path.with_suffix(".pyi").exists()


def _test_of(root: Path, package: str, path: Path) -> Path:
    inside = path.relative_to(root / package)
    return root / "tests" / inside.with_name(f"test_{path.name.removeprefix('_')}")


def private_imports(package: str) -> re.Pattern[str]:
    """Return what finds the lines of a test that import a private module, or a private name, of the package."""
    return re.compile(
        rf"^\s*from ({package}\.[a-z_0-9.]*\b_\w+(?:\.\w+)*) import|^\s*from ({package}[\w.]*) import (?:.*\b)?(_\w+)",
        re.MULTILINE,
    )


def other_private_imports(root: Path, package: str) -> int:
    """Return how many private imports of tests are of another module than the one at the mirrored path."""
    lines, count = private_imports(package), 0
    for test in (root / "tests").rglob("*.py"):
        for module, base, name in lines.findall(test.read_text(encoding="utf-8")):
            path = root / Path(*(module or f"{base}.{name}").split(".")).with_suffix(".py")
            count += _test_of(root, package, path) != test
    return count


def _commits(root: Path) -> dict[str, str]:
    log = subprocess.run(
        ["git", "-C", str(root), "log", "--format=%s%x00%b%x01"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    entries = [entry.strip("\n").split("\0") for entry in log.stdout.split("\1") if entry.strip()]
    if not entries:
        return {}
    subjects = [len(subject) for subject, _ in entries]
    return {
        "commit subject median / p90 characters": " / ".join(_spread(subjects).split(" / ")[:2]),
        "commits with a body, %": _percent(sum(bool(body.strip()) for _, body in entries), len(entries)),
    }


def _spread(numbers: list[int]) -> str:
    ordered = sorted(numbers)
    return (
        f"{statistics.median(ordered):.0f} / {ordered[int(0.9 * (len(ordered) - 1))]} / {ordered[-1]}"
        if ordered
        else "-"
    )


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f}" if whole else "-"


def main() -> None:
    """Print the table, as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument(
        "--root", type=Path, default=Path(), help="the checkout that holds the package (this one)"
    )
    parser.add_argument("--package", default="stratax", help="the package's folder below the root (stratax)")
    options = parser.parse_args()
    if not (options.root / options.package).is_dir():
        parser.error(f"there is no folder {options.root / options.package}")
    print("| metric | value |\n| --- | ---: |")
    for name, value in measure(options.root, options.package).items():
        print(f"| {name} | {value} |")


if __name__ == "__main__":
    main()
