"""What a constant of a program leaves out is not missed."""

import textwrap

import pytest

from stratax.tf import migration


def lines(text):
    return [finding.line for finding in migration.check_source(textwrap.dedent(text))]


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        ("eager", [6]),
        ("not eager", [4]),
        ("kind == 'graph'", [6]),
        ("'custom' != kind", [6]),
        ("eager and kind == 'graph'", [6]),
        ("eager and unknown", [6]),
        ("eager or unknown", [4, 6]),
        ("not eager or unknown", [4]),
        ("unknown or not eager", [4]),
        ("kind in other", [4, 6]),
        ("True", [4]),
    ],
)
def test_the_side_that_is_not_run_is_not_read(test, expected):
    text = f"import tensorflow as tf; eager = False; kind = 'custom'\n\nif {test}:\n    tf.lite\nelse:\n    tf.lite\n"
    found = lines(text)
    assert found == expected


@pytest.mark.parametrize(
    "again",
    [
        "eager = True",
        "for eager in x: pass",
        "def f():\n    global eager\n    eager = 1",
        "def f(eager): pass",
        "import eager",
        "from x import y as eager",
        "def eager(): pass",
        "eager += 1",
    ],
)
def test_a_name_that_may_be_something_else_is_not_known(again):
    assert len(lines(f"import tensorflow as tf\neager = False\n{again}\nif eager:\n    tf.lite\n")) == 1
