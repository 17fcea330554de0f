"""Test cases: what their assertions accept and what they say of the rest; gradients that are checked by differences."""

import os
import tempfile
import types

import numpy as np
import pytest

import stratax.tf as tf
from tests.cluster import forks


class Case(tf.test.TestCase):
    """The one that the tests ask."""

    def runTest(self):
        """Does nothing: unittest wants it."""


@pytest.fixture
def case():
    made = Case()
    made.setUp()
    return made


NAN = float("nan")


@pytest.mark.parametrize(
    ("name", "passes", "fails", "message"),
    [
        ("assertAllEqual", ([1, 2], tf.constant([1, 2])), ([1, 2], [1, 3]), "Not equal"),
        ("assertAllEqual", (["a"], tf.constant(["a"])), (["a"], ["b"]), "Not equal"),
        ("assertAllEqual", ([NAN], [NAN]), ([[1]], [1]), r"shapes differ: \(1, 1\) and \(1,\)"),
        (
            "assertAllEqual",
            ({"a": [1, [2, 3]]}, {"a": [1, [2, 3]]}),
            ({"a": [1, [2]]}, {"a": [1, [3]]}),
            r"Not equal\['a'\]\[1\]",
        ),
        ("assertNotAllEqual", ([1], [2]), ([1], [1]), "The two are equal"),
        ("assertAllClose", ([1.0, NAN], [1.0 + 1e-7, NAN]), ([1.0], [1.1]), "Not close"),
        ("assertAllClose", ({"a": 1.0}, {"a": 1.0}), ({"a": 1.0}, {"b": 1.0}), "The keys differ"),
        ("assertAllClose", ([1.0], [1.05], 0.1), ([1.0], [2.0], 0.1), "Not close"),
        ("assertNotAllClose", ([1.0], [2.0]), ([1.0], [1.0]), "The two are close"),
        ("assertAllCloseAccordingToType", (np.float16(1), np.float16(1.001)), (1.0, 1.001), "Not close"),
        (
            "assertAllCloseAccordingToType",
            (tf.cast(1.0, tf.bfloat16), 1.01),
            (tf.cast(1.0, tf.bfloat16), 1.1),
            "Not close",
        ),
        ("assertAllGreater", ([2, 3], 1), ([2, 1], 1), r"1 of 2 values are not greater than 1.*1 at \(1,\)"),
        ("assertAllGreaterEqual", ([2, 1], 1), ([0], 1), "at least 1"),
        ("assertAllLess", ([2, 3], 4), ([4], 4), "less than 4"),
        ("assertAllLessEqual", ([4], 4), ([5], 4), "at most 4"),
        ("assertAllInRange", ([0, 1], 0, 1), ([0, 1], 0, 1, False, True), r"in \[0, 1\)"),
        ("assertAllInRange", ([0.5], 0, 1, True), (["a"], 0, 1), "Only numbers"),
        ("assertAllInSet", ([1, 2], {1, 2, 3}), ([4], {1}), r"in \[1\]"),
        ("assertNear", (1.0, 1.1, 0.2), (1.0, 2.0, 0.2, "why"), "why 1.0 and 2.0 differ"),
        ("assertArrayNear", ([1.0], [1.1], 0.2), ([1.0], [2.0], 0.2), "differ by more"),
        ("assertArrayNear", ([], [], 0.2), ([1.0], [], 0.2), "lengths differ: 1 and 0"),
        ("assertNDArrayNear", (np.ones(2), np.ones(2), 0.1), (np.ones(2), np.zeros(2), 0.1), "norm"),
        ("assertShapeEqual", (tf.ones([2]), np.ones(2)), (tf.ones([2]), tf.ones([3])), r"\(2,\)"),
        ("assertDTypeEqual", (tf.ones([2]), np.float32), (tf.ones([2]), np.int32), "int32"),
        ("assertStartsWith", ("abc", "ab"), ("abc", "b"), "does not start"),
    ],
)
def test_an_assertion_accepts_what_holds_and_says_what_does_not(case, name, passes, fails, message):
    getattr(case, name)(*passes)
    with pytest.raises(AssertionError, match=message):
        getattr(case, name)(*fails)


def test_errors_are_expected_by_class_and_message(case):
    with case.assertRaisesOpError("went wrong"):
        raise tf.errors.NotFoundError(None, None, "It went wrong.")
    with case.assertRaisesWithPredicateMatch(ValueError, lambda error: error.args == (3,)):
        raise ValueError(3)
    value_error = case.assertRaisesWithPredicateMatch(ValueError, "")
    with pytest.raises(AssertionError, match="ValueError was not raised"), value_error:
        pass
    value_error = case.assertRaisesWithPredicateMatch(ValueError, "")
    with pytest.raises(AssertionError, match="Another error was raised: KeyError"), value_error:
        raise KeyError


def test_a_case_evaluates_structures_and_seeds_its_random_numbers(case):
    value = case.evaluate({"a": [tf.constant([1]), None], "b": (tf.Variable(2.0),)})
    assert value["a"][0].tolist() == [1]
    assert (value["a"][1], value["b"]) == (None, (2.0,))
    first = np.asarray(tf.random.uniform([2]))
    case.setUp()
    case.assertAllEqual(first, tf.random.uniform([2]))


def test_gradients_are_computed_twice():
    theoretical, numeric = tf.test.compute_gradient(lambda x, y: x * x * y, [[1.0, 2.0], [3.0, 4.0]])
    np.testing.assert_allclose(theoretical[0], [[6, 0], [0, 16]])
    np.testing.assert_allclose(theoretical[1], [[1, 0], [0, 4]])
    for exact, found in zip(theoretical, numeric, strict=True):
        np.testing.assert_allclose(found, exact, atol=1e-2)
    with pytest.raises(TypeError, match=r"in a list or tuple.*\[x\]"):
        tf.test.compute_gradient(lambda x: x, 1.0)
    with pytest.raises(ValueError, match="floating point numbers.*int32"):
        tf.test.compute_gradient(lambda x: x, [[1]])


def test_the_time_is_told_outside_of_compiled_functions():
    first = tf.timestamp()
    assert first.dtype == np.float64
    assert 0 <= tf.timestamp() - first < 100
    with pytest.raises(tf.errors.OpError, match="tells the time on the host"):
        tf.function(tf.timestamp)()


def test_a_test_has_one_folder(case, monkeypatch, tmp_path):
    monkeypatch.setattr(
        case, "create_tempdir", lambda: types.SimpleNamespace(full_path=tempfile.mkdtemp(dir=tmp_path))
    )
    folder = case.get_temp_dir()
    assert case.get_temp_dir() == folder
    assert os.listdir(folder) == []


def test_tests_share_a_folder_that_goes_with_the_process():
    text = """import stratax.tf as tf
assert tf.compat.v1.test.get_temp_dir() == tf.test.get_temp_dir()
print(tf.test.get_temp_dir())"""
    done = forks.run(["-c", text], dict(os.environ))
    assert done.returncode == 0, done.stderr
    folder = done.stdout.strip()
    assert os.path.isabs(folder)
    assert not os.path.exists(folder)
