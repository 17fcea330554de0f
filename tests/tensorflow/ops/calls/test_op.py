"""Functions of `tf` that are made of what computes and of what they are: signature, docstring, names, text."""

import inspect

import jax.numpy as jnp
import numpy as np
import pytest

import stratax.tf as tf
from stratax.errors import OperandError
from stratax.tensorflow.ops.calls.naming import telling
from stratax.tensorflow.ops.calls.op import op


def halve(x, times=1):
    """Return a half, as `tf.halve`.

    Args:
        x: A number.
        times: How often.

    Returns:
        Another one.
    """
    return x / 2**times


def test_the_name_comes_last_in_the_signature_and_in_the_description_of_arguments():
    made = op(halve)
    assert str(inspect.signature(made)).startswith("(x, times=1, name: str | None = None)")
    assert "    times: How often.\n    name: By which hooks find the result" in made.__doc__
    assert made.__doc__.endswith("Returns:\n    Another one.")
    assert "    name: Ignored.\n\nReturns:" in op(is_told=False)(halve).__doc__


def test_a_name_may_stand_elsewhere_and_have_a_default():
    made = op(name_after="x", name_default="half")(halve)
    assert str(inspect.signature(made)).startswith("(x, name: str | None = 'half', times=1)")
    assert float(made(8.0, "mine", 2)) == 2.0


@pytest.mark.parametrize(
    "what", [{}, {"is_told": False}, {"is_told": False, "is_raw": True}, {"arrays": ["x"]}]
)
def test_a_name_is_taken_by_place_and_by_name(what):
    made = op(**what)(halve)
    x = jnp.asarray(8.0)
    assert [float(each) for each in (made(x, 2, "n"), made(x, 2, name="n"), made(x, name=None))] == [2, 2, 4]


def test_what_no_function_takes_is_refused_as_python_does():
    made = op(halve)
    with pytest.raises(TypeError, match="unexpected keyword argument 'y'"):
        made(8.0, y=1)
    with pytest.raises(TypeError, match="takes from 1 to 2 positional arguments but 3 were given"):
        made(8.0, 2, "n", 3)


def test_hooks_are_told_of_the_name_and_change_the_result():
    told = []

    def note(name, result):
        told.append((name, float(result)))
        return "in its place"

    with telling(note):
        assert op(halve)(8.0, 1, "by place") == "in its place"
        assert op(halve)(8.0, name="by name") == "in its place"
        assert op(halve)(8.0) == "in its place"
        assert op(is_told=False)(halve)(8.0, name="untold") == 4.0
    assert told == [("by place", 4.0), ("by name", 4.0), (None, 4.0)]


def test_an_error_of_a_library_names_the_function():
    with pytest.raises(OperandError, match=r"tf\.halve can't compute with these arguments"):
        op(halve)("text")


def test_operands_that_may_be_text_are_arrays_of_bytes():
    def join(x, y):
        return x + y

    assert op(text=["x", "y"])(join)("a", [b"b", "c"]).tolist() == [b"ab", b"ac"]


def test_a_function_of_any_number_of_operands_takes_its_name_by_name_only():
    assert str(inspect.signature(tf.meshgrid)).split(", ")[-1].startswith("name: str | None = None")
    assert np.shape(tf.meshgrid([1, 2], [3, 4, 5], name="n")) == (2, 3, 2)
