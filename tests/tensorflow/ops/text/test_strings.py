"""Functions of strings and tables; what they give stands in tests/golden/surface/strings.py."""

import os
import subprocess
import sys

import numpy as np
import pytest

import stratax.tf as tf
from stratax import errors
from stratax.tensorflow.ops.text import regular_expressions


def test_a_pipeline_of_strings_imports_no_jax():
    code = (
        "import sys, stratax.tf as tf\n"
        "table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(['a'], [1]), -1)\n"
        "ds = tf.data.Dataset.from_tensor_slices(['A b', 'a'])\n"
        "ds = ds.map(lambda text: table.lookup(tf.strings.split(tf.strings.lower(text))))\n"
        "print([x.tolist() for x in ds], 'jax' in sys.modules)\n"
    )
    space = {name: value for name, value in os.environ.items() if not name.startswith("STRATAX")}
    found = subprocess.run(
        [sys.executable, "-c", code], env=space, capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == "[[1, -1], [1]] False"


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        (r"[[:alpha:]_]+", "ab_1", "-1"),
        (r"[^[:space:]]", "a b", "- -"),
        (r"\z", "a", "a-"),
        (r"(?s)a.b", "a\nb", "-"),
        (r"x(?i)", "Xx", "X-"),
        (r"\w", "é", "é"),
        ("é+", "éé", "-"),
        (r"[a[]", "a[", "--"),
        (r"\pL+\PN", "aé1", "-1"),
        (r"\Q.*\E", "a.*", "a-"),
        (r"(?i)É", "é", "-"),
    ],
)
def test_patterns_mean_what_they_mean_to_re2(pattern, text, expected):
    assert regular_expressions.replacing(pattern, "-", True)(text.encode()).decode() == expected


def test_bytes_that_are_no_text_stay():
    assert regular_expressions.replacing("a", "b", True)(b"\xffa") == b"\xffb"


def test_what_no_function_can_do_is_refused():
    with pytest.raises(errors.BadArgumentError, match="Invalid rewrite pattern.*Received: rewrite="):
        tf.strings.regex_replace("a", "(a)", r"\2")
    with pytest.raises(errors.BadArgumentError, match="Invalid regular expression.*RE2"):
        tf.strings.regex_full_match("a", "(")
    with pytest.raises(errors.BadTypeError, match="split computes strings on the host"):
        tf.function(lambda x: tf.strings.split(x))(tf.constant(1.0))
    with pytest.raises(errors.BadArgumentError, match="Empty and deleted keys cannot be equal"):
        tf.lookup.experimental.DenseHashTable(tf.string, tf.int64, -1, "a", "a")
    with pytest.raises(errors.BadArgumentError, match="a value for each key.*Received: values of"):
        tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1).insert(["a"], [1, 2])


def test_an_empty_array_of_text_is_text():
    empty = np.empty((1, 0), object)
    assert tf.not_equal(empty, "").shape == (1, 0)
    assert tf.expand_dims(empty, 0).numpy().dtype == object
    assert tf.concat([empty[0], ["a"]], 0).numpy().tolist() == [b"a"]
