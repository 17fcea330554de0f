"""`make_one_shot_iterator`, in an `input_fn` and elsewhere."""

import numpy as np
import pytest

import stratax.tf as tf
from stratax import errors
from stratax.data import Dataset, SparseTensor, make_one_shot_iterator
from stratax.data.dataset import dataset_of_parts, symbolic_iterators

PAIRS = Dataset.from_tensor_slices(({"a": np.arange(4), "b": np.arange(4) * 10}, np.arange(4) * 100)).batch(2)


def batches(made):
    return [[leaf.tolist() for leaf in element] for element in made]


def test_elsewhere_it_gives_the_elements_themselves():
    iterator = PAIRS.make_one_shot_iterator()
    (_, first), (_, second) = iterator.get_next(), iterator.get_next()
    assert (first.tolist(), second.tolist()) == ([0, 100], [200, 300])
    with pytest.raises(errors.OutOfRangeError):
        iterator.get_next()
    with pytest.raises(errors.BadTypeError, match="takes a Dataset"):
        make_one_shot_iterator([1])


def test_in_an_input_fn_it_stands_for_the_element_of_every_step():
    with symbolic_iterators():
        iterator = tf.compat.v1.data.make_one_shot_iterator(PAIRS)
        features, labels = iterator.get_next()
        labels.set_shape([2])
        assert (labels.dtype, labels.get_shape(), labels.shape) == (np.int64, (2,), (2,))
        with pytest.raises(errors.BadArgumentError, match="called twice in an input_fn"):
            iterator.get_next()
        made = dataset_of_parts((features["b"], labels))
    assert batches(made) == [[[0, 10], [0, 100]], [[20, 30], [200, 300]]]
    # Another pass begins anew, as each call of train does.
    assert batches(made) == batches(made)


def test_a_whole_element_is_the_dataset_itself():
    with symbolic_iterators():
        assert dataset_of_parts(PAIRS.make_one_shot_iterator().get_next()) is PAIRS


def test_components_of_several_iterators_go_side_by_side():
    with symbolic_iterators():
        numbers = Dataset.range(3).make_one_shot_iterator().get_next()
        words = Dataset.from_tensor_slices(["a", "b", "c"]).make_one_shot_iterator().get_next()
    made = dataset_of_parts({"words": words, "numbers": numbers})
    assert [(element["words"], int(element["numbers"])) for element in made] == [
        (b"a", 0),
        (b"b", 1),
        (b"c", 2),
    ]


def test_sparse_components_stay_together():
    def sparse(number):
        return SparseTensor(np.array([[0]]), np.reshape(number, [1]), np.array([1]))

    with symbolic_iterators():
        found = Dataset.range(2).map(sparse).make_one_shot_iterator().get_next()
    (_, second) = dataset_of_parts({"s": found})
    assert isinstance(second["s"], SparseTensor)
    assert second["s"].values.tolist() == [1]


def test_nothing_is_computed_with_components():
    with symbolic_iterators():
        found = Dataset.range(3).make_one_shot_iterator().get_next()
    for compute in (lambda: found + 1, lambda: tf.cast(found, tf.float32), lambda: tf.reduce_sum(found)):
        with pytest.raises(errors.BadTypeError, match=r"Compute in dataset\.map"):
            compute()
    with pytest.raises(errors.BadArgumentError, match="together with something else"):
        dataset_of_parts((found, 5))
    assert dataset_of_parts((4, 5)) is None
