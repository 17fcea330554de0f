"""Doors: what stands in their stubs is there, and nobody goes past them."""

import ast
import importlib
import pathlib

import pytest

from stratax import _doors

ROOT = pathlib.Path(__file__).resolve().parent.parent
STUBS = sorted((ROOT / "stratax").rglob("*.pyi"))


def door_of(stub):
    """The name of the module that a stub belongs to."""
    return ".".join(stub.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


DOORS = [door_of(stub) for stub in STUBS]


def parsed(stub):
    """The table of a stub as Python's own parser reads it; a statement of another form is an error."""
    package = door_of(stub) if stub.name == "__init__.pyi" else door_of(stub).rpartition(".")[0]
    table = {}
    for node in ast.parse(stub.read_text("utf-8")).body:
        match node:
            case ast.ImportFrom(module=None, names=[ast.alias(name=name, asname=alias)], level=1):
                entries = {alias: (f"{package}.{name}", "")}
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


@pytest.mark.parametrize("stub", STUBS, ids=DOORS)
def test_a_stub_is_read_as_python_reads_it_and_has_each_name_once(stub):
    assert _doors.read_table(door_of(stub), str(stub)) == parsed(stub)


@pytest.mark.parametrize("name", DOORS)
def test_every_name_of_a_door_is_there(name):
    door = importlib.import_module(name)
    assert door.__doc__
    assert [each for each in door.__all__ if getattr(door, each, None) is None] == []
    assert dir(door) == door.__all__


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


def test_a_name_that_a_door_does_not_have_is_an_attribute_error():
    door = importlib.import_module("stratax.io")
    with pytest.raises(AttributeError, match=r"module 'stratax.io' has no attribute 'knob'"):
        _ = door.knob


def test_a_name_is_found_without_the_door_once_it_was_used(tmp_path, monkeypatch):
    (tmp_path / "house").mkdir()
    (tmp_path / "house" / "__init__.py").write_text(
        "from stratax import _doors\n__getattr__, __dir__, __all__ = _doors.attach(__name__, __file__)\n"
    )
    (tmp_path / "house" / "__init__.pyi").write_text("import house._made\n\nsecond = house._made.first\n")
    (tmp_path / "house" / "_made.py").write_text("first = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    house = importlib.import_module("house")
    assert (house.__all__, "second" in vars(house)) == (["second"], False)
    assert (house.second, vars(house)["second"]) == (1, 1)
