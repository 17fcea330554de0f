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


def test_in_an_input_fn_nothing_has_to_be_initialized():
    with symbolic_iterators():
        iterator = tf.compat.v1.data.make_initializable_iterator(PAIRS)
        # What programs hand to a hook's session, or to a collection.
        assert iterator.initializer is None
        features, _ = iterator.get_next()
        assert isinstance(features["a"], tf.Tensor)
        assert isinstance(features["a"] + 1, tf.Tensor)
        assert dataset_of_parts(features["a"] + 1) is not None


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


def test_what_is_computed_of_components_is_computed_of_every_element():
    with symbolic_iterators():
        features, labels = PAIRS.make_one_shot_iterator().get_next()
        features["a"] = 1.0 - tf.cast(features["a"], tf.float32) * 2.0
        total = tf.reduce_sum(labels)
        assert (features["a"].dtype, features["a"].get_shape(), total.shape) == (np.float32, (2,), ())
        first, second = (tf.split(labels, 2)[index] for index in range(2))
        made = dataset_of_parts(
            {
                "features": features,
                "total": total,
                "reversed": labels[::-1],
                "place": labels[tf.argmax(labels)],
                "stacked": tf.stack([labels, labels + total]),
                "split": tf.concat([second, first], axis=0),
                "is_large": labels >= 100,
                "constant": tf.constant([1, 2]),
            }
        )
    wanted = [
        ([1.0, -1.0], 100, [100, 0], 100, [[0, 100], [100, 200]], [100, 0], [False, True]),
        ([-3.0, -5.0], 500, [300, 200], 300, [[200, 300], [700, 800]], [300, 200], [True, True]),
    ]
    names = ("total", "reversed", "place", "stacked", "split", "is_large")
    found = [
        (element["features"]["a"].tolist(), *(np.asarray(element[name]).tolist() for name in names))
        for element in made
    ]
    assert found == wanted
    assert [element["constant"].tolist() for element in made] == [[1, 2]] * 2


def test_parts_of_several_iterators_are_computed_together():
    with symbolic_iterators():
        numbers, tens = (
            Dataset.range(3).map(lambda n, k=k: n * k).make_one_shot_iterator().get_next() for k in (1, 10)
        )
        made = dataset_of_parts(numbers + tens)
    assert [int(element) for element in made] == [0, 11, 22]


def test_the_values_of_components_are_not_known():
    with symbolic_iterators():
        found = Dataset.range(3).make_one_shot_iterator().get_next()
        for use in (bool, int, np.asarray, list, lambda part: bool(part > 1)):
            with pytest.raises(errors.BadTypeError, match=r"Compute in dataset\.map"):
                use(found)
        assert dataset_of_parts((4, 5)) is None


def test_layers_that_an_input_fn_calls_compute():
    with symbolic_iterators():
        part = PAIRS.make_one_shot_iterator().get_next()[1]
        layer = tf.keras.layers.Rescaling(2.0)
        assert np.asarray(layer(np.ones(2, "float32"))).tolist() == [2, 2]
        assert tf.keras.Sequential([tf.keras.Input((2,)), layer]).output.shape == (None, 2)
        assert tf.keras.backend.learning_phase() == 0
    assert part is not None
