"""The core knows nothing of what serves TensorFlow's programs alone: nothing of it is imported or loaded."""

import ast
import functools
import json
import os
import pathlib
import subprocess
import sys
import tomllib

import pytest

from stratax.base import doors

ROOT = pathlib.Path(__file__).resolve().parent.parent
CONTRACTS = {
    each["name"]: each
    for each in tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
}
CONTRACT = CONTRACTS["The core does not know what serves TensorFlow's programs"]
CORE, WING = CONTRACT["source_modules"], CONTRACT["forbidden_modules"]

# What a program that trains with `fit` under a strategy loads of Stratax. Both may only fall.
MAX_MODULES, MAX_LINES = 262, 38_280


def modules_of(root):
    """The files of a package by their dotted names; of a door, its stub where there is nothing else."""
    return {
        ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__"): path
        for suffix in (".pyi", ".py")
        for path in sorted(root.joinpath("stratax").rglob(f"*{suffix}"))
    }


class Closure:
    """Which modules others reach, where an import of a door's name reaches the module that its stub gives."""

    def __init__(self, root):
        self._modules = modules_of(root)
        self._imports = functools.cache(self._imports_of)

    def path_to(self, sources, goals):
        """The modules on a way from one package to another; None where there is no way."""
        before = dict.fromkeys(
            name for name in self._modules if is_in(name, sources) and not is_in(name, goals)
        )
        queue = list(before)
        for name in queue:
            if is_in(name, goals):
                way = [name]
                while before[way[0]]:
                    way.insert(0, before[way[0]])
                return way
            for other in self._imports(name):
                if other not in before:
                    before[other] = name
                    queue.append(other)
        return None

    def _imports_of(self, module):
        path = self._modules[module]
        tree = ast.parse(path.read_text("utf-8"))
        attributes = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                attributes.setdefault(node.value.id, set()).add(node.attr)
        found = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    found |= self._named(alias.name, attributes.get(alias.asname, ()))
            elif isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    found |= self._named(
                        f"{node.module}.{alias.name}", attributes.get(alias.asname or alias.name, ())
                    )
        return sorted(found - {module})

    def _named(self, name, attributes=()):
        """The modules that a dotted name, and attributes of what it names, stand for."""
        if name in self._modules:
            return {name}.union(*(self._of_door(name, each) for each in attributes))
        parent, _, last = name.rpartition(".")
        if parent in self._modules:
            return {parent} | self._of_door(parent, last)
        return set()

    def _of_door(self, module, name):
        stub = self._modules[module].with_suffix(".pyi")
        if f"{module}.{name}" in self._modules:
            return {f"{module}.{name}"}
        if not stub.exists() or (origin := table(module, str(stub)).get(name)) is None:
            return set()
        return self._named(f"{origin.module}.{origin.attribute}" if origin.attribute else origin.module)


table = functools.cache(doors.read_table)


def is_in(name, packages):
    return any(name == package or name.startswith(f"{package}.") for package in packages)


def test_no_module_of_the_core_reaches_the_wing_through_any_door():
    assert Closure(ROOT).path_to(CORE, WING) is None


def test_no_module_below_them_reaches_parameter_servers_through_any_door():
    contract = CONTRACTS["Strategies, the engine and Keras do not know parameter servers"]
    assert Closure(ROOT).path_to(contract["source_modules"], contract["forbidden_modules"]) is None


@pytest.mark.parametrize(
    ("code", "way"),
    [
        ("from stratax.io import glob\n", None),
        ("import stratax.roof.nn\n", ["stratax.core.probe", "stratax.roof.nn"]),
        ("def f():\n    from stratax.roof.nn import relu\n", ["stratax.core.probe", "stratax.roof.nn"]),
        ("from stratax.hall import thing\n", ["stratax.core.probe", "stratax.roof.nn"]),
        ("from stratax import hall as room\nroom.thing\n", ["stratax.core.probe", "stratax.roof.nn"]),
        ("from stratax import hall as room\nroom.other\n", None),
    ],
)
def test_a_way_through_a_door_is_found(tmp_path, code, way):
    files = {
        "core/probe.py": code,
        "hall/__init__.py": "",
        "hall/__init__.pyi": "from stratax.roof.nn import thing as thing\nfrom ._other import other as other\n",
        "hall/_other.py": "",
        "io/__init__.py": "",
        "roof/nn.py": "",
    }
    for name, text in files.items():
        path = tmp_path / "stratax" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert Closure(tmp_path).path_to(["stratax.core"], ["stratax.roof"]) == way


PROGRAM = """
import json, sys
import numpy as np
import stratax as sx
import keras

strategy = sx.distribute.MirroredStrategy()
with strategy.scope():
    model = keras.Sequential([keras.layers.Input([4]), keras.layers.Dense(2)])
    model.compile("sgd", "mse")
x = np.zeros([64, 4], np.float32)
model.fit(sx.Dataset.from_tensor_slices((x, x[:, :2])).batch(8), verbose=0)
model.fit(x, x[:, :2], batch_size=8, verbose=0)
names = [name for name in sys.modules if name.partition(".")[0] == "stratax"]
print(json.dumps({name: sys.modules[name].__file__ for name in names}))
"""


def test_fit_under_a_strategy_loads_little_of_the_core_and_nothing_of_the_wing():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=os.environ | {"STRATAX_SIMULATE": "cpu:2"},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    loaded = json.loads(done.stdout.splitlines()[-1])
    assert [name for name in loaded if is_in(name, WING)] == []
    assert len(loaded) <= MAX_MODULES
    assert (
        sum(len(pathlib.Path(file).read_text("utf-8").splitlines()) for file in loaded.values()) <= MAX_LINES
    )


def strings_of(path):
    """The strings of a file that are no docstrings."""
    tree = ast.parse(path.read_text("utf-8"))
    said = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and ast.get_docstring(node) is not None
    }
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in said
    ]


def test_below_the_wing_no_string_names_a_module_of_it():
    below = [
        path
        for name, path in modules_of(ROOT).items()
        if is_in(name, [*CORE, "stratax.image"]) or name.startswith("stratax._")
    ]
    found = [(path, text) for path in below for text in strings_of(path) if text.startswith(tuple(WING))]
    assert len(below) > 400
    assert found == []
