"""Messages show what was received in at most 200 characters."""

import ast
import collections
import pathlib
import sys

import jax.numpy as jnp
import numpy as np
import pytest

import stratax
from stratax.base.shown import MOST_CHARACTERS, cut, shown
from stratax.data.elements import TensorShape


class Loud:
    def __repr__(self):
        return "loud" * 1000


class Broken:
    def __repr__(self):
        raise RuntimeError("no")


LARGE = [
    b"\xff\xd8" * 100_000,
    bytearray(10_000),
    "text" * 1000,
    list(range(10_000)),
    [["deep"] * 50] * 50,
    tuple("word" * 9 for _ in range(100)),
    dict.fromkeys(range(100), "part" * 20),
    collections.deque(range(1000)),
    np.zeros((100, 100)),
    np.array([b"x" * 5000, b"y"], object),
    np.array(["x" * 5000]),
    np.array([b"x"] * 1000, object),
    np.bytes_(b"x" * 5000),
    jnp.ones((50, 50)),
    ValueError("reason " * 100),
    10**1000,
    Loud(),
    Broken(),
]


@pytest.mark.parametrize("value", LARGE, ids=lambda value: type(value).__name__)
def test_large_values_are_shortened(value):
    assert 0 < len(shown(value)) <= MOST_CHARACTERS
    assert 0 < len(shown({"key": [value]})) <= MOST_CHARACTERS


@pytest.mark.parametrize(
    "value", [3, None, "a'b", b"\x00", [1, (2,)], {"b": 1, "a": [{}]}, 1.5, {1: 2}, set()]
)
def test_small_values_are_shown_as_repr_shows_them(value):
    assert shown(value) == repr(value)


def test_shapes_of_tensors_are_shown_as_tuples():
    assert shown([TensorShape([2, None]), TensorShape([])]) == "[(2, None), ()]"


def test_long_text_tells_its_length_and_a_path_its_end():
    assert shown(b"\xff" * 1000).endswith("(1000 bytes)")
    text = shown("/folder" * 100 + "/file.txt")
    assert "/file.txt' (709 characters)" in text
    assert text.startswith("'/folder/folder")


def test_arrays_in_dicts_keep_the_dicts_order():
    assert shown({"b": np.arange(2), "a": np.array([b"x"], object)}) == (
        "{'b': array([0, 1]), 'a': array([b'x'], dtype=object)}"
    )


def test_a_large_value_is_not_formatted_as_a_whole(monkeypatch):
    assert len(shown([b"x" * 100_000_000] * 1000)) <= MOST_CHARACTERS
    monkeypatch.delitem(sys.modules, "numpy")
    assert shown([1]) == "[1]"


def test_texts_lose_their_middle():
    assert cut("short") == "short"
    assert cut("a" * 300 + "end").endswith("end")
    assert len(cut("a" * 300, 50)) == 50


def _errors(tree):
    """What is under a `raise`, or an argument of an error or a warning."""
    for node in ast.walk(tree):
        function = node.func if isinstance(node, ast.Call) else None
        name = getattr(function, "attr", getattr(function, "id", ""))
        if isinstance(node, ast.Raise) or name.endswith("Error") or name == "warn":
            yield from ast.walk(node)


def _is_short(value):
    """Whether an expression is a part of known length, or a path, which the system keeps short."""
    is_slice = isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Slice)
    return is_slice or ast.unparse(value) == "path"


def test_every_message_shortens_what_it_shows():
    package = pathlib.Path(stratax.__file__).parent
    whole = {
        f"{path.relative_to(package)}: {ast.unparse(node.value)}"
        for path in package.rglob("*.py")
        for node in _errors(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.FormattedValue) and node.conversion == ord("r") and not _is_short(node.value)
    }
    assert not whole, "write {shown(value)} (stratax.base.shown) instead of {value!r}"
