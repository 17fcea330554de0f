"""Doors: what stands in their stubs is there, and nobody goes past them."""

import ast
import importlib
import pathlib
import re

import pytest

from stratax.base import doors as _doors
from tools.trips import Counter

ROOT = pathlib.Path(__file__).resolve().parents[2]
STUBS = sorted((ROOT / "stratax").rglob("*.pyi"))


def door_of(stub):
    """The name of the module that a stub belongs to."""
    return ".".join(stub.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


DOORS = [door_of(stub) for stub in STUBS]


def private_imports(path, text):
    """The private modules and names that a file or stub takes past a door of a package or room that it is not in.

    Private modules of `stratax` itself belong to all of the package. The stub of a package may say that a name is made
    in one of its rooms, whoever else takes it through the room's door.
    """
    own = path.with_suffix("").parts
    base = own[:-1]
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            parts = [*base[: len(base) - node.level + 1], *[node.module][: bool(node.module)]]
            module = ".".join(parts) if node.level else node.module
            names = [f"{module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            parts = name.split(".")
            private = [i for i, part in enumerate(parts) if part.startswith("_") and not part.endswith("__")]
            if parts[0] != "stratax" or not private:
                continue
            # A room is two levels deep, what lies below it is in it; for a stub, a package is one.
            owner = tuple(parts[: min(private[0], 2 if path.suffix == ".pyi" else 3)])
            if own[: len(owner)] != owner and not (path.suffix == ".pyi" and is_wings(base, owner)):
                yield name


def is_wings(package, owner):
    """Whether a stub of `stratax.tf`, which are the doors of TensorFlow's wing, takes a name of it."""
    return (tuple(package[:2]), tuple(owner)) == (("stratax", "tf"), ("stratax", "tensorflow"))


def parsed(stub):
    """The table of a stub as Python's own parser reads it; a statement of another form is an error."""
    package = door_of(stub) if stub.name == "__init__.pyi" else door_of(stub).rpartition(".")[0]
    table = {}
    for node in ast.parse(stub.read_text("utf-8")).body:
        match node:
            case ast.Expr(value=ast.Constant(value=str())):
                continue
            case ast.ImportFrom(module=None, names=[ast.alias(name=name, asname=alias)], level=1):
                entries = {alias: (f"{package}.{name}", "")}
            case ast.ImportFrom(module=str(library), names=[ast.alias(name="*")], level=0) if (
                library.split(".")[0] == "keras"
            ):
                continue
            case ast.ImportFrom(module=module, names=[ast.alias(name="*", asname=None)], level=0):
                entries = parsed(next(each for each in STUBS if door_of(each) == module))
            case ast.ImportFrom(module=module, names=[ast.alias(name=name, asname=alias)], level=0 | 1):
                assert name == alias, f"{stub}: {name} as {alias} is no name of the door for type checkers"
                entries = {alias: (f"{package}.{module}" if node.level else module, name)}
            case ast.Import(names=[ast.alias(name=name, asname=str(alias))]) if name == alias:
                entries = {alias: (name, "")}
            case ast.Import(names=[ast.alias(asname=None)]):
                continue
            case ast.Assign(targets=[ast.Name(id=alias)], value=ast.Attribute(value=module, attr=name)):
                entries = {alias: (ast.unparse(module), name)}
            case ast.Delete(targets=[ast.Name(id=name)]):
                del table[name]
                continue
            case _:
                raise AssertionError(f"{stub}: {ast.unparse(node)}")
        assert not table.keys() & entries.keys(), f"{stub}: {table.keys() & entries.keys()}"
        table |= entries
    return table


def test_what_a_package_or_room_keeps_to_itself_is_taken_in_it_alone():
    found = {
        str(path): list(private_imports(path, (ROOT / path).read_text("utf-8")))
        for folder in ("stratax", "benchmarks", "examples", "tools")
        for suffix in ("*.py", "*.pyi")
        for path in (each.relative_to(ROOT) for each in (ROOT / folder).rglob(suffix))
    }
    # The lowerings and the messages themselves are what is measured; the server is given TensorFlow's functions for its
    # own; the table of tf's names is read without importing it.
    allowed = {
        "benchmarks/_lowerings.py",
        "benchmarks/_servers_embedding.py",
        "benchmarks/_serving_process.py",
        "tools/compatibility.py",
    }
    assert {path: names for path, names in found.items() if names and path not in allowed} == {}


@pytest.mark.parametrize(
    ("path", "code", "expected"),
    [
        (
            "data/sources/_probe.py",
            "from stratax.data.plan._node import Node",
            ["stratax.data.plan._node.Node"],
        ),
        ("data/sources/_probe.py", "from stratax.data.plan import _node", ["stratax.data.plan._node"]),
        ("data/sources/_probe.py", "import stratax.data.ops.map._node", ["stratax.data.ops.map._node"]),
        ("data/sources/_probe.py", "from stratax.data.plan import Node", []),
        ("data/sources/_probe.py", "from stratax.data.sources._memory import Range", []),
        ("data/ops/_probe.py", "from stratax.data.ops.map._node import Map", []),
        ("keras/_probe.py", "from stratax.core import Function, _capture", ["stratax.core._capture"]),
        ("keras/_probe.py", "from stratax.core.regions import current_region", []),
        ("keras/_probe.py", "from stratax.base.shown import shown", []),
        ("keras/__init__.pyi", "from ._compile import x as x", []),
        ("data/__init__.pyi", "from .dataset._dataset import Dataset as Dataset", []),
        ("train.pyi", "from .core._function import f as f", ["stratax.core._function.f"]),
        ("tf/data.pyi", "from stratax.data._x import f as f", ["stratax.data._x.f"]),
        ("tf/contrib/x.pyi", "from stratax.tensorflow.contrib._x import f as f", []),
        ("tf/_x.py", "import stratax.tensorflow.contrib._x", ["stratax.tensorflow.contrib._x"]),
    ],
)
def test_an_import_past_a_door_is_found(path, code, expected):
    assert list(private_imports(pathlib.Path("stratax", path), code)) == expected


@pytest.mark.parametrize("stub", STUBS, ids=DOORS)
def test_a_stub_is_read_as_python_reads_it_and_has_each_name_once(stub):
    assert _doors.read_table(door_of(stub), str(stub)) == parsed(stub)


@pytest.mark.parametrize("stub", STUBS, ids=DOORS)
def test_a_name_of_another_package_is_taken_from_its_door(stub):
    package = door_of(stub).split(".")[:2]
    # `stratax.tf.image` has what stands in the table of `stratax.image`, which is looked at there.
    text = re.sub(r"(?m)^(from .* import \*.*|del .*)$", "", stub.read_text("utf-8"))
    # The modules of the root (`train`, `tpu`) are a choice of what packages have.
    others = [
        origin
        for origin in _doors.parse_table(".".join(package), text).values()
        if origin.module.startswith("stratax.")
        and origin.module.split(".")[:2] != package
        and not is_wings(package, origin.module.split(".")[:2])
    ]
    allowed = ("stratax._version",)
    assert [each for each in others if "._" in each.module and each.module not in allowed] == []


@pytest.mark.parametrize("name", DOORS)
def test_every_name_of_a_door_is_there(name):
    door = importlib.import_module(name)
    assert door.__doc__
    assert [each for each in door.__all__ if not hasattr(door, each)] == []
    libraries = [importlib.import_module(each) for each in _doors.read_libraries(door.__file__)]
    assert dir(door) == sorted({*door.__all__, *(each for library in libraries for each in dir(library))})


def test_all_forms_of_a_table_are_read():
    text = """
from . import room as room
from ._module import Thing as Thing
other = house._module.thing
from .room._module import (
    a_long_name as a_long_name,
)
from stratax.tpu import TPUStrategy as TPUStrategy
import keras as keras
from gone import gone as gone
del gone
"""
    assert _doors.parse_table("house", text) == {
        "room": ("house.room", ""),
        "Thing": ("house._module", "Thing"),
        "other": ("house._module", "thing"),
        "a_long_name": ("house.room._module", "a_long_name"),
        "TPUStrategy": ("stratax.tpu", "TPUStrategy"),
        "keras": ("keras", ""),
    }


def test_a_table_may_take_all_names_of_another_but_some():
    names = set(_doors.parse_table("house", "from stratax.io import *\ndel glob\n"))
    assert names == set(importlib.import_module("stratax.io").__all__) - {"glob"}


def test_a_door_may_have_a_librarys_names_besides(tmp_path, monkeypatch):
    (tmp_path / "hall").mkdir()
    (tmp_path / "hall" / "__init__.py").write_text(
        "from stratax.base import doors as _doors\n__getattr__, __dir__, __all__ = _doors.attach(__name__, __file__)\n"
    )
    (tmp_path / "hall" / "__init__.pyi").write_text(
        "from colorsys import *\nfrom ._made import rgb_to_hsv as rgb_to_hsv\n"
    )
    (tmp_path / "hall" / "_made.py").write_text("rgb_to_hsv = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    hall = importlib.import_module("hall")
    assert (hall.__all__, hall.rgb_to_hsv, hall.hsv_to_rgb(0, 0, 1)) == (["rgb_to_hsv"], 1, (1, 1, 1))
    assert {"rgb_to_hsv", "rgb_to_yiq"} <= set(dir(hall))
    assert "hsv_to_rgb" not in vars(hall)
    with pytest.raises(AttributeError, match="module 'hall' has no attribute 'knob'"):
        _ = hall.knob


def test_a_name_that_a_door_does_not_have_is_an_attribute_error():
    door = importlib.import_module("stratax.io")
    with pytest.raises(AttributeError, match=r"module 'stratax.io' has no attribute 'knob'"):
        _ = door.knob


@pytest.mark.parametrize(
    ("door", "name", "meant"),
    [
        ("stratax.distribute", "MiroredStrategy", "stratax.distribute.MirroredStrategy"),
        ("stratax", "MirroredStrategy", "stratax.distribute.MirroredStrategy"),
        ("stratax", "Checkpoint", "stratax.train.Checkpoint"),
        ("stratax.data", "Datset", "stratax.data.Dataset"),
    ],
)
def test_the_error_for_a_missing_name_says_what_is_near(door, name, meant):
    with pytest.raises(AttributeError, match=rf"has no attribute '{name}'\. Did you mean .*\b{meant}\b.*\?$"):
        getattr(importlib.import_module(door), name)


@pytest.mark.parametrize("name", ["__wrapped__", "__path_hook__", "_private"])
def test_names_that_tools_ask_for_fail_at_once(monkeypatch, name):
    """Without a file that is read or a library that is imported, and with nothing said of other names."""
    doors = [importlib.import_module(door) for door in ("stratax", "stratax.distribute", "stratax.tf.keras")]
    monkeypatch.setattr(_doors, "read_table", None)
    for door in doors:
        with pytest.raises(AttributeError, match=rf"^module '{door.__name__}' has no attribute '{name}'$"):
            getattr(door, name)


def test_a_late_import_of_a_doors_name_makes_no_message():
    from stratax.cluster.settings import get_build_info as first

    with Counter() as counter:
        from stratax.cluster.settings import get_build_info as second
    assert first is second
    # Python asks whether the door is a package: for `__path__`.
    assert counter.row()[0] == 1


def test_a_name_is_found_without_the_door_once_it_was_used(tmp_path, monkeypatch):
    (tmp_path / "house").mkdir()
    (tmp_path / "house" / "__init__.py").write_text(
        "from stratax.base import doors as _doors\n__getattr__, __dir__, __all__ = _doors.attach(__name__, __file__)\n"
    )
    (tmp_path / "house" / "__init__.pyi").write_text("import house._made\n\nsecond = house._made.first\n")
    (tmp_path / "house" / "_made.py").write_text("first = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    house = importlib.import_module("house")
    assert (house.__all__, "second" in vars(house)) == (["second"], False)
    assert (house.second, vars(house)["second"]) == (1, 1)
