"""What a Dataset is: specs, counts, printing, and the operations that have no file of their own."""

import collections

import jax.numpy as jnp
import keras
import numpy as np
import pytest

import stratax as sx
from stratax.data import (
    INFINITE_CARDINALITY,
    UNKNOWN_CARDINALITY,
    AutoShardPolicy,
    Dataset,
    Options,
    TensorSpec,
)
from stratax.errors import BadArgumentError, BadTypeError, StrataxError
from tests.data.reference import as_lists

Point = collections.namedtuple("Point", ["x", "y"])


def test_the_programs_of_the_guides_give_what_they_say():
    whole = Dataset.from_tensors(([1.0], [1.0])).repeat(100).batch(10)
    assert len(whole) == 10
    features, labels = next(iter(whole))
    assert features.shape == labels.shape == (10, 1)
    assert features.dtype == np.float32
    named = Dataset.from_tensors(({"feats": [1.0]}, [1.0])).repeat(1000).batch(10)
    assert named.element_spec[0]["feats"] == TensorSpec((10, 1), "float32")
    numbers = Dataset.range(16)
    assert list(numbers.as_numpy_iterator()) == list(range(16))
    assert as_lists(numbers.batch(8)) == [list(range(8)), list(range(8, 16))]


def test_elements_keep_their_structure():
    data = {"a": np.arange(3), "b": (np.ones((3, 2)), Point(np.zeros(3), [1.0, 2.0, 3.0])), "c": None}
    dataset = Dataset.from_tensor_slices(data)
    element = next(iter(dataset))
    assert isinstance(element["b"][1], Point)
    assert element["c"] is None
    assert element["b"][1].y == np.float32(1.0)
    assert dataset.batch(2).element_spec["b"][0] == TensorSpec((None, 2), "float64")
    assert next(iter(dataset.map(lambda e: e["b"][1]).batch(2))).x.shape == (2,)


def test_lists_are_data_and_arrays_keep_their_dtype():
    assert Dataset.from_tensor_slices([1, 2]).element_spec == TensorSpec((), "int32")
    assert Dataset.from_tensor_slices([2**40]).element_spec == TensorSpec((), "int64")
    assert Dataset.from_tensor_slices([1.0]).element_spec == TensorSpec((), "float32")
    assert Dataset.from_tensor_slices(np.array([1.0])).element_spec == TensorSpec((), "float64")
    assert Dataset.from_tensor_slices(jnp.ones(2, jnp.bfloat16)).element_spec.dtype == jnp.bfloat16
    assert Dataset.from_tensors(keras.Variable([1.0])).element_spec == TensorSpec((1,), "float32")
    assert list(Dataset.from_tensor_slices(["a", b"b\0"])) == [b"a", b"b\0"]


def test_elements_of_rank_zero_are_numpy_scalars_and_others_arrays():
    for dataset, kind in (
        (Dataset.range(3), np.int64),
        (Dataset.range(3).filter(lambda x: x > 0), np.int64),
        (Dataset.from_tensors(3.0), np.float32),
        (Dataset.range(3).batch(2), np.ndarray),
    ):
        assert isinstance(next(dataset.as_numpy_iterator()), kind)


def test_enumerate_counts():
    dataset = Dataset.range(10, 13).enumerate(start=5)
    assert [(int(i), int(x)) for i, x in dataset] == [(5, 10), (6, 11), (7, 12)]
    assert dataset.element_spec[0] == TensorSpec((), "int64")
    assert len(dataset) == 3
    assert Dataset.range(3).repeat().enumerate().cardinality() == INFINITE_CARDINALITY


def test_reduce_folds():
    assert Dataset.range(5).reduce(np.int64(0), lambda state, x: state + x) == 10
    total, count = Dataset.from_tensor_slices([1.0, 2.0]).reduce(
        (0.0, 0), lambda state, x: (state[0] + x, state[1] + 1)
    )
    assert (total, count) == (3.0, 2)
    assert Dataset.range(0).reduce(7, lambda state, x: state) == 7


def test_reduce_refuses_a_state_that_changes():
    with pytest.raises(BadTypeError, match="given to reduce gave elements of different dtype"):
        Dataset.range(3).reduce(0, lambda state, x: float(x))
    with pytest.raises(BadTypeError, match="reduce_func has to be callable"):
        Dataset.range(3).reduce(0, None)


def test_apply_calls_a_function_of_the_dataset():
    assert as_lists(Dataset.range(3).apply(lambda ds: ds.map(lambda x: x + 1))) == [1, 2, 3]
    with pytest.raises(BadTypeError, match=r"apply .* needs a Dataset"):
        Dataset.range(3).apply(list)


def test_cardinality_and_len():
    assert Dataset.range(5).cardinality() == len(Dataset.range(5)) == 5
    assert Dataset.range(5).repeat().cardinality() == INFINITE_CARDINALITY
    assert Dataset.range(5).filter(lambda x: x > 1).cardinality() == UNKNOWN_CARDINALITY
    assert Dataset.range(0).filter(lambda x: x > 1).cardinality() == 0
    with pytest.raises(BadTypeError, match="has no end"):
        len(Dataset.range(5).repeat())
    with pytest.raises(TypeError, match="unknown length"):
        len(Dataset.range(5).filter(lambda x: x > 1))
    assert bool(Dataset.range(0)) is True


def test_printing_a_dataset_calls_no_function():
    called = []
    dataset = Dataset.range(3).map(lambda x: called.append(1) or x)
    assert repr(dataset) == "<MapDataset element_spec=known when its functions are called>"
    assert not called
    assert repr(Dataset.range(4).batch(2)) == (
        "<BatchDataset element_spec=TensorSpec(shape=(2,), dtype=tf.int64, name=None)>"
    )


def test_random_numbers_are_a_function_of_the_seed():
    dataset = Dataset.random(seed=3).take(1000)
    found = as_lists(dataset)
    assert as_lists(dataset) == found
    assert len(set(found)) == 1000
    assert 0 <= min(found) < 2**29
    assert 2**32 - 2**29 < max(found) < 2**32
    anew = Dataset.random(seed=3, rerandomize_each_iteration=True).take(10)
    assert as_lists(anew) != as_lists(anew)
    passes = as_lists(Dataset.random(3, True).take(4).repeat(2).batch(8))[0]
    assert passes[:4] != passes[4:]


def test_options_are_kept_and_merged():
    options = Options()
    options.experimental_distribute.auto_shard_policy = AutoShardPolicy.DATA
    other = Options()
    other.deterministic = False
    other.threading.private_threadpool_size = 1
    dataset = Dataset.range(3).with_options(options).batch(2).with_options(other)
    assert dataset.options().experimental_distribute.auto_shard_policy is AutoShardPolicy.DATA
    assert dataset.options().deterministic is False
    with pytest.raises(BadArgumentError, match=r"`tf.data.Dataset.options\(\)` has no effect"):
        dataset.options().deterministic = True
    assert dataset.options().deterministic is False
    assert Dataset.range(3).options() == Options()
    with pytest.raises(BadTypeError, match=r"with_options takes stratax.data.Options"):
        Dataset.range(3).with_options({"deterministic": True})


def test_the_thread_limit_of_the_options_holds():
    import threading

    names = set()
    options = Options()
    options.threading.private_threadpool_size = 1
    dataset = Dataset.range(20).map(
        lambda x: names.add(threading.current_thread().name) or x, num_parallel_calls=4
    )
    list(dataset.with_options(options))
    assert len(names) == 1


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda d: d.take(1.5), "count has to be an integer"),
        (lambda d: d.shuffle(0), "buffer_size has to be an integer of at least 1"),
        (lambda d: d.shuffle(5, seed="x"), "seed has to be an integer"),
        (lambda d: d.shard(0, 0), "num_shards has to be an integer of at least 1"),
        (lambda d: d.shard(3, -1), "index has to be an integer of at least 0"),
        (lambda d: d.shard(3, 3), r"0 <= index < num_shards=3.*Received: index=3"),
        (lambda d: d.window(0), "size has to be an integer of at least 1"),
        (lambda d: d.window(2, shift=0), "shift has to be an integer of at least 1"),
        (lambda d: d.window(2, stride=0), "stride has to be an integer of at least 1"),
        (lambda d: d.batch(2, num_parallel_calls=0), "positive or AUTOTUNE"),
        (lambda d: d.filter(3), "predicate has to be callable"),
        (lambda d: d.flat_map(3), "map_func has to be callable"),
        (lambda d: d.apply(3), "transformation_func has to be callable"),
    ],
)
def test_bad_arguments_are_refused_before_iterating(make, message):
    with pytest.raises(StrataxError, match=message):
        make(Dataset.range(5))


def test_every_negative_count_means_all():
    numbers = Dataset.range(3)
    assert as_lists(numbers.take(-2)) == [0, 1, 2]
    assert as_lists(numbers.skip(-7)) == []
    assert as_lists(numbers.repeat(-3).take(4)) == [0, 1, 2, 0]


def test_counts_may_be_numpy_numbers():
    assert as_lists(Dataset.range(np.int64(5)).take(np.array(2)).batch(np.int32(2))) == [[0, 1]]


def test_a_state_that_is_an_array_may_be_given_as_a_list():
    def following(state, _):
        return [state[1], state[0] + state[1]]

    assert Dataset.range(6).reduce(np.array([0, 1]), following).tolist() == [8, 13]
    numbers = Dataset.range(6).scan([0, 1], lambda state, x: (following(state, x), state[1]))
    assert as_lists(numbers) == [1, 1, 2, 3, 5, 8]
    # A list in what the function returns is an array.
    assert as_lists(Dataset.range(2).scan(0, lambda state, x: (state, [x, x]))) == [[0, 0], [1, 1]]


def test_a_compiled_function_gets_the_single_element():
    @sx.function
    def single(dataset):
        return dataset.get_single_element() + 1

    assert single(Dataset.range(3).batch(3)).tolist() == [1, 2, 3]
    assert single(Dataset.range(3, 6).batch(3)).tolist() == [4, 5, 6]
    for dataset, message in [(Dataset.range(3), "more than one"), (Dataset.range(3).take(0), "was empty")]:
        with pytest.raises(BadArgumentError, match=message):
            single(dataset)
