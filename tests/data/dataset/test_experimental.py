"""The older forms for `apply`, under the names that TensorFlow has for them."""

import threading

import numpy as np
import pytest

import stratax.tf as tf
from stratax.data import AUTOTUNE, Dataset, TensorSpec
from stratax.data.dataset import experimental
from stratax.data.plan import threads_of
from stratax.errors import BadArgumentError
from tests.data.reference import as_lists


@pytest.mark.parametrize("home", [tf.data.experimental, tf.contrib.data])
def test_map_and_batch_maps_and_batches(home):
    numbers = tf.data.Dataset.range(5)
    assert as_lists(numbers.apply(home.map_and_batch(lambda x: x + 1, 2))) == [[1, 2], [3, 4], [5]]
    dropped = home.map_and_batch(lambda x: x + 1, batch_size=2, num_parallel_batches=2, drop_remainder=True)
    assert as_lists(numbers.apply(dropped)) == [[1, 2], [3, 4]]
    with pytest.raises(BadArgumentError, match="num_parallel_batches or num_parallel_calls, not both"):
        home.map_and_batch(lambda x: x, 2, 1, False, 3)


def test_many_parallel_batches_are_no_more_threads_than_help():
    before = set(threading.enumerate())
    started = []

    def note(x):
        started.append(threading.current_thread())
        return x

    form = tf.contrib.data.map_and_batch(note, 256, num_parallel_batches=8)
    with iter(tf.data.Dataset.range(2000).filter(lambda x: True).apply(form)) as iterator:
        next(iterator)
        assert len(set(started) - before) <= threads_of(AUTOTUNE)
    with pytest.raises(BadArgumentError, match="num_parallel_batches has to be an integer of at least 1"):
        tf.contrib.data.map_and_batch(note, 2, num_parallel_batches=0)


def test_parallel_interleave_takes_turns():
    form = tf.data.experimental.parallel_interleave(
        lambda x: tf.data.Dataset.from_tensors(x).repeat(3), cycle_length=2, sloppy=True
    )
    assert as_lists(tf.data.Dataset.range(3).apply(form)) == [0, 1, 0, 1, 0, 1, 2, 2, 2]


def test_shuffle_and_repeat_gives_every_element_in_every_pass():
    form = tf.data.experimental.shuffle_and_repeat(10, count=3, seed=4)
    found = as_lists(tf.data.Dataset.range(10).apply(form))
    passes = [found[i : i + 10] for i in (0, 10, 20)]
    assert [sorted(numbers) for numbers in passes] == [list(range(10))] * 3
    assert passes[0] != passes[1]


def test_the_short_forms_are_the_methods():
    batches = tf.data.Dataset.range(5).batch(2)
    assert as_lists(batches.apply(tf.data.experimental.unbatch())) == list(range(5))
    assert as_lists(batches.apply(tf.data.experimental.prefetch_to_device("gpu:0"))) == [[0, 1], [2, 3], [4]]
    assert as_lists(tf.data.Dataset.range(5).apply(tf.contrib.data.batch_and_drop_remainder(2))) == [
        [0, 1],
        [2, 3],
    ]
    rows = tf.data.Dataset.range(1, 4).map(np.arange)
    padded = tf.contrib.data.padded_batch_and_drop_remainder(2, (None,))
    assert as_lists(rows.apply(padded)) == [[[0, 0], [0, 1]]]
    pairs = tf.data.Dataset.range(2).apply(tf.data.experimental.enumerate_dataset(5))
    assert [(int(a), int(b)) for a, b in pairs] == [(5, 0), (6, 1)]
    broken = tf.data.Dataset.range(3).map(lambda x: 1 // int(x))
    assert as_lists(broken.apply(tf.data.experimental.ignore_errors())) == [1, 0]


class TestPadToCardinality:
    def padded(self, columns, count=4, **arguments):
        dataset = Dataset.from_tensor_slices(columns)
        return dataset.apply(experimental.pad_to_cardinality(count, **arguments))

    def test_elements_of_zeros_are_added_and_marked(self):
        columns = {"text": ["a", "b"], "rows": np.float32([[1], [2]])}
        padded = self.padded(columns)
        assert int(padded.cardinality()) == 4
        assert padded.element_spec == {
            "text": TensorSpec((), object),
            "rows": TensorSpec((1,), "float32"),
            "valid": TensorSpec((), bool),
        }
        # What TensorFlow 2.21 gives.
        found = [{name: np.asarray(part).tolist() for name, part in each.items()} for each in padded]
        assert found == [
            {"text": b"a", "rows": [1.0], "valid": True},
            {"text": b"b", "rows": [2.0], "valid": True},
            {"text": b"", "rows": [0.0], "valid": False},
            {"text": b"", "rows": [0.0], "valid": False},
        ]

    def test_the_mark_has_another_name_and_nothing_is_added_to_enough(self):
        found = list(self.padded({"x": [1, 2]}, 2, mask_key="mine"))
        assert [bool(each["mine"]) for each in found] == [True, True]
        assert [bool(each["valid"]) for each in self.padded({"valid": [5, 6]}, 3)] == [True, True, False]

    @pytest.mark.parametrize(
        ("make", "message"),
        [
            (lambda: Dataset.range(2), "requires its input dataset to be a dictionary"),
            (lambda: Dataset.from_tensor_slices({"x": np.arange(9)}), "at most 4 elements"),
            (lambda: Dataset.from_tensor_slices({"x": [1]}).repeat(), "of known length"),
            (lambda: Dataset.from_tensor_slices({"x": [1]}).filter(lambda x: True), "of known length"),
            (lambda: Dataset.from_tensor_slices({"x": np.arange(3)}).batch(2), "whose sizes are known"),
        ],
    )
    def test_what_can_not_be_padded_is_an_error(self, make, message):
        with pytest.raises(BadArgumentError, match=message):
            make().apply(experimental.pad_to_cardinality(4))
