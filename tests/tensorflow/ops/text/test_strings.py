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


@pytest.mark.parametrize(
    ("values", "options", "expected"),
    [
        ([1 + 2j], {}, b"(1.000000,2.000000)"),
        ([1 + 2j], {"width": 10, "fill": "0", "precision": 1}, b"(00000001.0,00000002.0)"),
        ([complex(float("inf"), 1)], {"width": 8, "fill": "0"}, b"(     inf,1.000000)"),
        ([float("inf")], {"width": 8, "fill": "0", "scientific": True}, b"     inf"),
        ([float("-inf")], {"width": 6, "fill": "-"}, b"-inf  "),
        ([5.0], {"fill": "#", "precision": 0}, b"5."),
        ([True], {"width": 9, "fill": "-"}, b"true"),
        (["abc"], {"width": 6, "fill": "0"}, b"   abc"),
        (["abc"], {"width": 6, "fill": "-"}, b"abc   "),
        (["abc"], {"width": 5, "precision": 1}, b"    a"),
        (["abc"], {"precision": 1, "scientific": True}, b"abc"),
        (["a\0bc"], {"width": 6}, b"     a"),
    ],
)
def test_values_of_each_dtype_are_written_as_c_and_tensorflow_do(values, options, expected):
    assert tf.strings.as_string(values, **options).numpy().tolist() == [expected]


def test_the_sign_of_zero_is_written():
    assert tf.strings.as_string([0.0, -0.0], precision=0).numpy().tolist() == [b"0", b"-0"]
    assert tf.strings.as_string([0j, -0j], precision=0).numpy().tolist() == [b"(0,0)", b"(-0,-0)"]
    assert tf.strings.as_string(tf.cast([-0.0, 0.0], tf.bfloat16), precision=0).numpy().tolist() == [
        b"-0",
        b"0",
    ]


@pytest.mark.parametrize(
    ("values", "options"),
    [
        ([5], {"precision": 2}),
        ([5], {"shortest": True}),
        ([True], {"scientific": True}),
        ([5], {"fill": "x"}),
        (["abc"], {"fill": "x"}),
    ],
)
def test_options_that_do_not_go_with_a_dtype_are_refused(values, options):
    with pytest.raises(errors.BadArgumentError):
        tf.strings.as_string(values, **options)


def test_a_length_below_0_is_all_that_is_left_of_bytes():
    assert tf.strings.substr("abcdef", 1, -1).numpy() == b"bcdef"
    assert tf.strings.substr("abcdef", -3, -2).numpy() == b"def"
    assert tf.strings.substr("abcdef", 1, -2, unit="UTF8_CHAR").numpy() == b""


@pytest.mark.parametrize(
    ("text", "upper", "length"),
    [
        (b"\xff", b"\xef\xbf\xbd", 1),
        (b"\xe2\x82A", b"\xef\xbf\xbdA", 2),
        (b"a\x80\x80", b"A\xef\xbf\xbd\xef\xbf\xbd", 1),
    ],
)
def test_what_is_no_utf_8_is_changed_and_counted_as_tensorflow_does(text, upper, length):
    assert tf.strings.upper(text, encoding="utf-8").numpy() == upper
    assert tf.strings.length(text, unit="UTF8_CHAR").numpy() == length


def test_an_empty_array_of_text_is_text():
    empty = np.empty((1, 0), object)
    assert tf.not_equal(empty, "").shape == (1, 0)
    assert tf.expand_dims(empty, 0).numpy().dtype == object
    assert tf.concat([empty[0], ["a"]], 0).numpy().tolist() == [b"a"]
