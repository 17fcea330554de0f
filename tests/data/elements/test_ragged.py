"""RaggedTensor: printing, compiled functions, Datasets, and what it refuses; numbers are TensorFlow's in tests/tf."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import stratax.tf as tf
from stratax.data import Dataset, RaggedTensor
from stratax.errors import BadArgumentError, BadTypeError


def rows():
    return RaggedTensor.from_row_lengths(np.array([3, 1, 4], np.int32), [2, 0, 1])


def test_it_prints_as_tensorflows():
    assert repr(rows()) == "<tf.RaggedTensor [[3, 1], [], [4]]>"
    assert len(repr(tf.ragged.range([1001]))) < 100


def test_its_sizes_are_none_where_rows_differ():
    assert rows().shape == (3, None)
    assert tf.ragged.constant([[[1, 2], []], [[3]]]).shape == (2, None, None)
    assert RaggedTensor.from_row_splits(np.zeros((3, 5)), [0, 1, 3]).shape == (2, None, 5)
    assert RaggedTensor.from_uniform_row_length(np.zeros(6), 3).shape == (2, 3)


def test_it_is_an_argument_and_a_result_of_compiled_functions():
    @tf.function
    def doubled(given):
        return given * 2

    made = doubled(rows())
    assert isinstance(made, RaggedTensor)
    assert np.asarray(made.flat_values).tolist() == [6, 2, 8]
    assert np.asarray(made.row_splits).tolist() == [0, 2, 2, 3]
    assert made.to_list() == [[6, 2], [], [8]]
    assert made[0].tolist() == [6, 2]
    assert made.to_tensor().tolist() == [[6, 2], [0, 0], [8, 0]]


def test_what_needs_the_lengths_of_rows_is_refused_in_a_compiled_function():
    with pytest.raises(
        BadTypeError, match=r"to_sparse needs the lengths of rows.*Make it dense with to_tensor\(\)"
    ):
        tf.function(lambda given: given.to_sparse())(rows())


def test_a_row_that_a_pipeline_made_before_jax_was_there_is_an_argument():
    code = (
        "import sys, numpy as np, stratax.tf as tf\n"
        "rows = tf.ragged.constant([[1, 2], [3]])\n"
        "assert 'jax' not in sys.modules\n"
        "print(np.asarray(tf.function(lambda given: given + 1)(rows).flat_values).tolist())\n"
    )
    # What tests are set up with (simulated devices) would import JAX at once.
    space = {name: value for name, value in os.environ.items() if not name.startswith("STRATAX")}
    found = subprocess.run(
        [sys.executable, "-c", code], env=space, capture_output=True, text=True, check=False
    )
    assert not found.returncode, found.stderr
    assert found.stdout.strip() == "[2, 3, 4]"


def test_a_dataset_of_them_goes_on_where_it_was():
    def made():
        given = Dataset.range(6).map(lambda x: tf.ragged.range([x, 2]))
        return given.filter(lambda given: len(given.flat_values) != 5).map(lambda given: given * 2)

    iterator = iter(made())
    assert next(iterator).to_list() == [[], [0, 2]]
    state = json.loads(json.dumps(iterator.get_state()))
    again = iter(made())
    again.set_state(state)
    assert [given.to_list() for given in again] == [given.to_list() for given in iterator]


@pytest.mark.parametrize(
    ("make", "error", "match"),
    [
        (
            lambda: RaggedTensor.from_row_splits([1, 2], [0, 1]),
            BadArgumentError,
            "end with the number of values, 2",
        ),
        (lambda: RaggedTensor.from_row_lengths([1], [-1, 2]), BadArgumentError, "are not negative"),
        (lambda: RaggedTensor.from_row_splits([1], [0.0, 1.5]), BadTypeError, "row_splits are whole numbers"),
        (lambda: rows()[:, 0], BadArgumentError, r"inner ragged dimension.*\[:, 0:1\]"),
        (lambda: rows()[3], BadArgumentError, "-3 <= index < 3.*Received: 3"),
        (
            lambda: rows() + tf.ragged.constant([[1], [2], [3, 4]]),
            BadArgumentError,
            "rows of the same lengths",
        ),
        (lambda: bool(rows()), BadTypeError, "may not be used as a boolean"),
        (lambda: tf.reshape(rows(), [-1]), BadTypeError, "reshape takes arrays.*to_tensor"),
    ],
)
def test_what_does_not_fit_is_refused(make, error, match):
    with pytest.raises(error, match=match):
        make()


def test_values_on_a_device_stay_there():
    made = RaggedTensor.from_row_lengths(tf.constant([3.0, 1.0, 4.0]), [2, 0, 1])
    assert tf.is_tensor((made * 2).flat_values)
    assert tf.is_tensor(made.to_tensor())


# The texts are TensorFlow's.
@pytest.mark.parametrize(
    ("nested", "text"),
    [
        ([[1.0, 2.5], []], "[[1.0, 2.5], []]"),
        ([[0.1, 1 / 3]], "[[0.1, 0.33333334]]"),
        ([["a", "b"], ["c"]], "[[b'a', b'b'], [b'c']]"),
        ([[[1], [2, 3]], []], "[[[1], [2, 3]], []]"),
        ([[True], []], "[[True], []]"),
        ([[*range(1100)]], "[[0, 1, 2, ..., 1097, 1098, 1099]]"),
        ([[0, 0], [1, 1]], "[[0, 0],\n [1, 1]]"),
    ],
)
def test_rows_of_all_kinds_print_as_tensorflows(nested, text):
    assert str(tf.ragged.constant(nested)) == f"<tf.RaggedTensor {text}>"


def test_what_a_compiled_function_gave_prints_its_rows():
    doubled = tf.function(lambda rows: rows * 2)(tf.ragged.constant([[1, 2], [3]]))
    assert str(doubled) == "<tf.RaggedTensor [[2, 4], [6]]>"
