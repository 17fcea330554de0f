"""The rooms of `stratax.data`: what they offer to one another, and that nobody goes past their doors."""

import ast
import importlib
import pathlib

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROOMS = sorted(path.parent.name for path in (ROOT / "stratax" / "data").glob("*/__init__.py"))


def private_imports(path, text):
    """The modules of rooms that a file imports past their door, though it is in none of them."""
    own = ".".join(path.with_suffix("").parts)
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        module = getattr(node, "module", None)
        names = [f"{module}.{alias.name}" if module else alias.name for alias in node.names]
        for name in names:
            parts = name.split(".")
            if (
                parts[:2] != ["stratax", "data"]
                or len(parts) < 4
                or own.startswith(".".join(parts[:3]) + ".")
            ):
                continue
            if any(part.startswith("_") for part in parts[3:]):
                yield name


def test_what_a_room_keeps_to_itself_is_imported_in_it_alone():
    found = {
        str(path): list(private_imports(path, (ROOT / path).read_text()))
        for folder in ("stratax", "benchmarks", "examples")
        for path in (each.relative_to(ROOT) for each in (ROOT / folder).rglob("*.py"))
    }
    assert {path: names for path, names in found.items() if names} == {}


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("from stratax.data.plan._node import Node", ["stratax.data.plan._node.Node"]),
        ("from stratax.data.plan import _node", ["stratax.data.plan._node"]),
        ("import stratax.data.ops.map._node", ["stratax.data.ops.map._node"]),
        ("from stratax.data.plan import Node", []),
        ("from stratax.data.sources._memory import Range", []),
    ],
)
def test_an_import_past_a_door_is_found(code, expected):
    assert list(private_imports(pathlib.Path("stratax/data/sources/_probe.py"), code)) == expected


@pytest.mark.parametrize("room", ROOMS)
def test_everything_that_a_room_offers_is_there(room):
    door = importlib.import_module(f"stratax.data.{room}")
    assert door.__doc__
    assert [name for name in getattr(door, "__all__", ()) if getattr(door, name, None) is None] == []
