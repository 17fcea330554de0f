"""Tests of what TensorFlow's own tests ask of Datasets: specs of Datasets, optionals, and errors of functions."""

import copy
import pickle

import numpy as np
import pytest

import stratax.tf as tf
from stratax.errors import BadTypeError, DataError, DataLossError, FailedPreconditionError, FileMissingError

D = tf.data.Dataset
NUMBERS = tf.data.DatasetSpec(tf.TensorSpec([], tf.int64))


def test_a_dataset_is_declared_by_its_spec():
    @tf.function(input_signature=[NUMBERS])
    def total(dataset):
        return dataset.reduce(tf.constant(0, tf.int64), lambda a, b: a + b)

    assert int(total(D.range(5))) == 10
    with pytest.raises(
        BadTypeError, match=r"Argument 'dataset' .* Expected: DatasetSpec\(TensorSpec\(shape=\(\)"
    ):
        total(D.from_tensor_slices([1.0, 2.0]))
    concrete = tf.function(lambda dataset: dataset.reduce(0, lambda a, b: a + b)).get_concrete_function(
        NUMBERS
    )
    assert int(concrete(D.range(4))) == 6


def test_specs_of_datasets_are_compared():
    wide = tf.data.DatasetSpec({"a": tf.TensorSpec([None], tf.int32), "b": NUMBERS})
    narrow = tf.data.DatasetSpec({"a": tf.TensorSpec([3], tf.int32), "b": NUMBERS})
    assert tf.data.DatasetSpec.from_value(D.range(3)) == NUMBERS
    assert NUMBERS.is_compatible_with(D.range(3))
    assert not NUMBERS.is_compatible_with(D.from_tensors(1.0))
    assert [narrow.is_subtype_of(wide), wide.is_subtype_of(narrow), wide.is_subtype_of(NUMBERS)] == [
        True,
        False,
        False,
    ]
    assert narrow.most_specific_common_supertype([wide]) == wide
    assert narrow.most_specific_common_supertype([NUMBERS]) is None


def test_an_optional_says_what_its_element_is_like():
    made = tf.experimental.Optional.from_value({"a": tf.constant([1.0, 2.0])}).element_spec["a"]
    assert (tuple(made.shape), made.dtype) == ((2,), np.float32)
    spec = tf.TensorSpec([2], tf.int32)
    assert tf.experimental.Optional.empty(spec).element_spec == spec
    iterator = iter(D.range(1))
    assert [iterator.get_next_as_optional().element_spec for _ in range(2)] == [
        tf.TensorSpec([], tf.int64)
    ] * 2


@pytest.mark.parametrize(
    ("dataset", "name"),
    [
        (D.range(3).map(lambda x: 10 // x), "Map"),
        (D.range(3).filter(lambda x: 10 // x > 0), "Filter"),
        (D.range(3).flat_map(lambda x: D.range(10 // x)), "FlatMap"),
        (D.range(3).interleave(lambda x: D.range(10 // x)), "Interleave"),
        (D.range(3).scan(np.int64(1), lambda state, x: (state // x, x)), "Scan"),
        (D.range(3).group_by_window(lambda x: 10 // x, lambda key, window: window, 2), "GroupByWindow"),
    ],
)
def test_an_error_of_a_function_says_what_the_function_was_given_to(dataset, name):
    words = f"passed to {name}Dataset transformation with iterator: Iterator::Root::{name}: Integer division by zero"
    with pytest.raises(tf.errors.InvalidArgumentError, match=f"Error in user-defined function {words}"):
        list(dataset)


def test_an_error_of_the_users_own_keeps_its_message():
    def fail(_):
        raise KeyError("mine")

    with pytest.raises(KeyError) as caught:
        list(D.range(3).map(fail))
    assert str(caught.value) == "'mine'"


def test_a_choice_is_any_whole_number():
    choice = D.from_tensor_slices(np.array([0, 1, 1], np.int32))
    assert [int(x) for x in D.choose_from_datasets([D.range(3), D.range(10, 13)], choice)] == [0, 10, 11]


def test_a_sample_without_weights_above_0_is_empty():
    assert list(D.sample_from_datasets([D.range(3), D.range(3)], weights=[0.0, 0.0])) == []


def test_padding_to_less_than_the_element_is_refused():
    with pytest.raises(DataError, match=r"The padded shape \(1,\) is not compatible with the shape"):
        D.from_tensors([1, 2, 3]).padded_batch(2, padded_shapes=[1])
    unknown = D.from_generator(lambda: [[1, 2, 3]], output_signature=tf.TensorSpec([None], tf.int32))
    with pytest.raises(DataLossError, match="Attempted to pad to a smaller size than the input element"):
        list(unknown.padded_batch(2, padded_shapes=[1]))


def test_a_pattern_without_files_is_an_invalid_argument(tmp_path):
    with pytest.raises(tf.errors.InvalidArgumentError, match="No files matched pattern") as caught:
        D.list_files(f"{tmp_path}/*")
    assert isinstance(caught.value, FileMissingError)


@pytest.mark.parametrize(
    ("count", "expected", "message"),
    [
        (10, 1, "expected to contain 1 element but contained at least 2 elements"),
        (1, 20, "expected to contain 20 elements but contained only 1 element"),
        (10, -1, "expected to contain an infinite number of elements but contained only 10 elements"),
    ],
)
def test_another_number_of_elements_is_told_in_tensorflows_words(count, expected, message):
    dataset = D.range(count).apply(tf.data.experimental.assert_cardinality(expected))
    with pytest.raises(FailedPreconditionError, match=message):
        list(dataset)


def test_text_that_a_compiled_function_returns_is_a_tensor():
    number, word, more = tf.function(lambda x: (x + 1, "abc", [b"d"]))(tf.constant(1))
    assert (int(number), word.numpy(), more[0].numpy(), word.dtype) == (2, b"abc", b"d", tf.string)


def test_options_of_a_dataset_refuse_changes_without_effect():
    options = tf.data.Options()
    options.deterministic = False
    dataset = D.range(3).with_options(options)
    made = dataset.options()
    assert pickle.loads(pickle.dumps(made)) == copy.deepcopy(made) == options
    for change in (
        lambda: setattr(made, "deterministic", True),
        lambda: setattr(made, "experimental_deterministic", True),
        lambda: setattr(made.threading, "private_threadpool_size", 1),
    ):
        with pytest.raises(ValueError, match=r"Mutating `tf.data.Options\(\)` returned by"):
            change()
    changed = copy.deepcopy(made)
    changed.deterministic = True
    assert [dataset.with_options(changed).options().deterministic, dataset.options().deterministic] == [
        True,
        False,
    ]


def test_the_rank_of_a_reductions_state_may_change():
    made = D.range(3).reduce(tf.constant([1]), lambda state, _: tf.expand_dims(state, 0))
    assert made.shape == (1, 1, 1, 1)
    with pytest.raises(BadTypeError, match="gave elements of different dtype"):
        D.range(3).reduce(np.int64(1), lambda state, _: 1.5)
