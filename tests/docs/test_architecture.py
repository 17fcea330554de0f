"""What the page on the architecture names is there."""

import ast
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/architecture.md").read_text("utf-8")
STEPS = re.findall(r"(?m)^(\w[\w/]+\.py) +([\w.]+)", PAGE)
FILES = sorted(set(re.findall(r"`(?:stratax/)?(\w[\w/]*/\w+\.pyi?)`", PAGE)))


def defined(path):
    """The functions and methods of a module."""
    found = set()
    for node in ast.parse(path.read_text("utf-8")).body:
        inner = node.body if isinstance(node, ast.ClassDef) else []
        found |= {node.name} if isinstance(node, ast.FunctionDef | ast.ClassDef) else set()
        found |= {f"{node.name}.{each.name}" for each in inner if isinstance(each, ast.FunctionDef)}
    return found


def test_the_page_has_trips_and_files():
    assert len(STEPS) > 20
    assert len(FILES) > 10


@pytest.mark.parametrize(("path", "name"), STEPS)
def test_a_step_of_a_trip_is_there(path, name):
    assert name in defined(ROOT / "stratax" / path)


@pytest.mark.parametrize("path", FILES)
def test_a_file_that_is_named_is_there(path):
    assert (ROOT / "stratax" / path).exists() or (ROOT / path).exists()
