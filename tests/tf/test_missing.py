"""The table of what is not there: every row is well formed, true, and what the error says."""

import ast
import os
import re
import subprocess
import sys

import pytest

import stratax.tf as tf
from stratax.tf import _missing


def is_there(name):
    value = tf
    for part in name.split(".")[1:]:
        try:
            value = getattr(value, part)
        except AttributeError:
            return False
    return True


def test_every_row_says_what_to_write():
    for row in _missing.read().values():
        assert row.topic, row
        assert row.instead.endswith("."), row
        assert not row.reason or row.reason.endswith("."), row


def lines():
    with open(_missing.TABLE, encoding="utf-8") as table:
        return [line for line in table if line.strip()]


def test_names_and_topics_stand_once():
    rows = [line.split(" | ")[0] for line in lines() if not line.startswith("#")]
    assert len(rows) == len(_missing.read())
    topics = [line for line in lines() if line.startswith("#")]
    assert len(topics) == len(set(topics))


def test_what_a_row_names_instead_is_there():
    for row in _missing.read().values():
        for code in re.findall("`([^`]+)`", row.instead + row.reason):
            for name in re.findall(r"\btf(?:\.\w+)+", code):
                assert is_there(name), row
            # Not where only an argument is named, as in `EvalSpec(exporters=)`.
            if "(" in code and not code.endswith("=)"):
                ast.parse(code)


def test_no_row_stands_for_what_is_there():
    # A method or an argument belongs to something that is there, and so does a module with parts that are.
    rows = {name for name in _missing.read() if "(" not in name and name.startswith("tf.")}
    assert sorted(filter(is_there, rows - {"tf.contrib", "tf.python"})) == [], (
        "Take their rows out of the table"
    )


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("tf.lite.Interpreter", "tf.lite"),
        ("tf.compat.v1.AttrValue", "tf.AttrValue"),
        ("tf.compat.v1.graph_util.f", "tf.graph_util"),
        ("tf.abs", None),
        ("tf", None),
    ],
)
def test_a_row_stands_for_what_is_below_it_and_for_earlier_versions(name, found):
    row = _missing.find(name)
    assert (row and row.name) == found


def test_the_error_says_what_the_row_says():
    with pytest.raises(
        AttributeError, match=r"tf\.lite is not in Stratax\. TensorFlow Lite's.*Instead:.*convert"
    ):
        tf.lite  # noqa: B018
    with pytest.raises(AttributeError, match=r"tf\.compat\.v1\.AttrValue is not in Stratax.*Instead:"):
        tf.compat.v1.AttrValue  # noqa: B018


def test_saying_so_takes_neither_keras_nor_jax_nor_time():
    program = """
import stratax.tf as tf, sys, time
begin = time.perf_counter()
try:
    tf.lite.Interpreter
except AttributeError as error:
    print('Instead' in str(error))
print(time.perf_counter() - begin < 0.05, {'keras', 'jax'} & set(sys.modules))
"""
    # Simulated devices are made of JAX.
    environment = os.environ | {"STRATAX_SIMULATE": ""}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False
    )
    assert done.stdout == "True\nTrue set()\n", done.stderr
