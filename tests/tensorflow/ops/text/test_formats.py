"""In `"text" % shape`, a shape is one value, as in TensorFlow."""

import ast

import numpy as np
import pytest

import stratax.tf as tf
from stratax.tensorflow.ops.text.formats import Formats, format_text


@pytest.mark.parametrize(
    ("text", "shape", "expected"),
    [
        ("of %s", [2, 3], "of (2, 3)"),
        ("of %s", [4], "of (4,)"),
        ("of %s", [], "of ()"),
        ("100%% of %s", [2, 3], "100% of (2, 3)"),
        ("%d rows of %d", [2, 3], "2 rows of 3"),
    ],
)
def test_a_shape_is_one_value_where_there_is_one_place(text, shape, expected):
    assert format_text(text, tf.TensorShape(shape)) == expected


def test_tuples_of_python_are_several_values():
    assert format_text("%s and %s", (1, 2)) == "1 and 2"
    assert format_text("%(a)s", {"a": 1}) == "1"
    with pytest.raises(TypeError, match="not all arguments"):
        format_text("%s", np.zeros([2, 3]).shape)


def test_a_function_that_is_compiled_says_a_shape():
    said = []

    @tf.function
    def double(x):
        said.append("x: %s" % x.shape)  # noqa: UP031
        said.append("x: %s, %s" % (x.shape, 1))  # noqa: UP031
        said.append(5 % 3)
        return 2 * x

    double(tf.zeros([2, 3]))
    assert said == ["x: (2, 3)", "x: (2, 3), 1", 2]


def test_what_is_no_shape_stays_as_it_is():
    texts = ["'%s' % (a, b)", "'%(x)s' % {'x': 1}", "'%s' % 'a'", "a % b", "'a' + b"]
    assert [ast.unparse(Formats("f").visit(ast.parse(text))) for text in texts] == texts
    assert ast.unparse(Formats("f").visit(ast.parse("'%s' % x.shape"))) == "f('%s', x.shape)"
