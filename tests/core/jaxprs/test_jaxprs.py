"""What a jaxpr's equations are asked is asked in one room, which knows nothing of the rest of the core."""

import ast
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
# What compiles for TPUs may go through what it has compiled by itself.
ROOMS = ("stratax/core/jaxprs/", "stratax/command/rehearsal/")
_EQUATIONS = re.compile(r"\beqns\b")


def looks_at_equations(path, text):
    return not path.startswith(ROOMS) and bool(_EQUATIONS.search(text))


def sources(folder):
    paths = sorted((ROOT / folder).rglob("*.py"))
    return {str(path.relative_to(ROOT)): path.read_text("utf-8") for path in paths}


def test_the_equations_of_jaxprs_are_looked_at_in_their_room_alone():
    assert [path for path, text in sources("stratax").items() if looks_at_equations(path, text)] == []


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("stratax/core/_probe.py", "for each in jaxpr.eqns:\n    pass\n", True),
        ("stratax/data/_probe.py", "jaxpr.replace(eqns=[])\n", True),
        ("stratax/core/jaxprs/_probe.py", "jaxpr.eqns\n", False),
        ("stratax/core/_probe.py", "jaxprs.equations(jaxpr)\n", False),
    ],
)
def test_whoever_else_looks_at_them_is_found(path, text, expected):
    assert looks_at_equations(path, text) is expected


def test_the_room_imports_nothing_else_of_the_core():
    imported = {
        node.module if isinstance(node, ast.ImportFrom) else alias.name
        for text in sources("stratax/core/jaxprs").values()
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    own = {f"stratax.core.jaxprs.{name}" for name in ("_chosen", "_cut", "_evaluate", "_settling", "_walk")}
    assert {name for name in imported if name.startswith("stratax.core")} == own
